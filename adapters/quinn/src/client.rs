//! A job: priming where a ticket is wanted, then all connections at once, each for itself.

use std::sync::Arc;
use std::time::Duration;

use longlook_adapter::clock::now_ns;
use longlook_adapter::failure::Failure;
use longlook_adapter::job::{Job, PRIME_PATH, State};
use longlook_adapter::objects::{Object, fail_all};
use tokio::task::JoinSet;
use tokio::time::{Instant, timeout_at};

use crate::settings::Settings;
use crate::tls::ClientSide;
use crate::{h2, h3};

/// For CONNECTION_CLOSE or the like to leave.
pub const CLOSE_LIMIT: Duration = Duration::from_millis(200);

/// What all connections of a job share.
pub struct Shared {
    /// The job.
    pub job: Job,
    /// Its knobs, applied.
    pub settings: Settings,
    /// Trust and tickets.
    pub tls: ClientSide,
    deadline: Instant,
}

/// What is asked of one connection.
#[derive(Clone, Copy)]
pub struct Opening {
    /// It only earns a ticket.
    pub primes: bool,
    /// Its first requests are early data, where the ticket allows that.
    pub early: bool,
    /// When it was asked for, nanoseconds since 1970.
    pub t_start_ns: u64,
}

enum Connection {
    H3(h3::Connection),
    H2(h2::Connection),
}

/// Do a job; its failure says only that something did not arrive, the lines say what.
pub async fn run(mut job: Job) -> Result<(), Failure> {
    let h2 = match job.protocol.as_str() {
        "h3" => false,
        "h2" => true,
        other => return Err(Failure::Unsupported(format!("protocol {other:?}"))),
    };
    if h2 && job.state == State::ZeroRtt {
        return Err(Failure::Unsupported("0-RTT with h2: no early data is sent over TCP here".into()));
    }
    let settings = Settings::new(&job.protocol, false, std::mem::take(&mut job.knobs))?;
    let tls = ClientSide::new(&job.ca, &job.protocol)?;
    let deadline = Instant::now() + job.timeout;
    let shared = Arc::new(Shared { job, settings, tls, deadline });
    let primed = match shared.job.state {
        State::Cold => Ok(()),
        State::Resumed | State::ZeroRtt => shared.in_time(prime_for_all(&shared)).await,
    };
    if let Err(reason) = primed {
        let reason = format!("priming connection: {reason}");
        for _ in 0..shared.job.connections {
            fail_all(&shared.job.site(), &shared.job.phases, now_ns(), &reason);
        }
        return Err(Failure::Reported);
    }
    let all = (0..shared.job.connections).map(|_| fetch_all(shared.clone()));
    if all.collect::<JoinSet<_>>().join_all().await.into_iter().all(|complete| complete) {
        Ok(())
    } else {
        Err(Failure::Reported)
    }
}

impl Shared {
    async fn open(&self, opening: Opening) -> Result<Connection, String> {
        if self.job.protocol == "h3" {
            h3::Connection::open(self, opening).await.map(Connection::H3)
        } else {
            h2::Connection::open(self, opening).await.map(Connection::H2)
        }
    }

    async fn in_time<T>(&self, work: impl Future<Output = Result<T, String>>) -> Result<T, String> {
        timeout_at(self.deadline, work).await.unwrap_or_else(|_| Err(self.job.too_late()))
    }
}

impl Connection {
    async fn fetch(&self, url: &str, object: &mut Object) -> Result<(), String> {
        match self {
            Self::H3(connection) => connection.fetch(url, object).await,
            Self::H2(connection) => connection.fetch(url, object).await,
        }
    }

    async fn close(&self) {
        match self {
            Self::H3(connection) => connection.close().await,
            Self::H2(connection) => connection.close().await,
        }
    }

    fn object(&self, site: &str, path: &str, t_start_ns: u64) -> Object {
        let local = match self {
            Self::H3(connection) => connection.local,
            Self::H2(connection) => connection.local,
        };
        Object::new(site, path, Some(local), t_start_ns)
    }
}

/// Earn a ticket for each connection: once suffices for one, and for two where the server gives two tickets.
async fn prime_for_all(shared: &Shared) -> Result<(), String> {
    while shared.tls.tickets.count() < shared.job.connections {
        prime(shared).await?;
    }
    Ok(())
}

/// Earn tickets on a connection of its own, and close it properly.
async fn prime(shared: &Shared) -> Result<(), String> {
    let before = shared.tls.tickets.count();
    let connection = shared.open(Opening { primes: true, early: false, t_start_ns: now_ns() }).await?;
    let site = shared.job.site();
    let mut object = connection.object(&site, PRIME_PATH, now_ns());
    connection.fetch(&format!("{site}{PRIME_PATH}"), &mut object).await?;
    shared.tls.tickets.more_than(before).await;
    connection.close().await;
    Ok(())
}

/// Fetch the phases one after another on one connection, the paths of a phase all at once.
async fn fetch_all(shared: Arc<Shared>) -> bool {
    let site = shared.job.site();
    let mut t_start_ns = now_ns();
    let opening = Opening { primes: false, early: shared.job.state == State::ZeroRtt, t_start_ns };
    let connection = match shared.in_time(shared.open(opening)).await {
        Ok(connection) => Arc::new(connection),
        Err(reason) => {
            fail_all(&site, &shared.job.phases, t_start_ns, &reason);
            return false;
        }
    };
    let mut complete = true;
    for paths in &shared.job.phases {
        let fetches = paths.iter().map(|path| {
            let object = connection.object(&site, path, t_start_ns);
            fetch(shared.clone(), connection.clone(), format!("{site}{path}"), object)
        });
        complete &= fetches.collect::<JoinSet<_>>().join_all().await.into_iter().all(|arrived| arrived);
        t_start_ns = now_ns();
    }
    connection.close().await;
    complete
}

async fn fetch(shared: Arc<Shared>, connection: Arc<Connection>, url: String, mut object: Object) -> bool {
    match shared.in_time(connection.fetch(&url, &mut object)).await {
        Ok(()) => object.complete(),
        Err(reason) => {
            object.fail(reason);
            false
        }
    }
}
