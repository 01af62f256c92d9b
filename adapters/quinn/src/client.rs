//! A job: priming where a ticket is wanted, then all connections at once, each for itself.

use std::sync::Arc;

use longlook_adapter::clock::now_ns;
use longlook_adapter::failure::Failure;
use longlook_adapter::job::{Job, PRIME_PATH, State};
use longlook_adapter::objects::{Object, fail_all, fail_connections};
use tokio::task::JoinSet;
use tokio::time::Instant;

use crate::session::{Opening, Shared};
use crate::settings::Settings;
use crate::tls::ClientSide;
use crate::{h2, h3};

/// Turns of the scheduler until requests have passed through all tasks to the connection: each passes one or two.
const READY_TURNS: usize = 8;

enum Connection {
    H3(h3::client::Connection),
    H2(h2::client::Connection),
}

/// Do a job. Lines report each object; the failure says only that one did not arrive.
pub async fn run(mut job: Job) -> Result<(), Failure> {
    if job.protocol != "h3" && job.protocol != "h2" {
        return Err(Failure::Unsupported(format!("protocol {:?}", job.protocol)));
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
        fail_connections(&shared.job, &format!("priming connection: {reason}"));
        return Err(Failure::Reported);
    }
    let all = (0..shared.job.connections).map(|_| fetch_all(shared.clone()));
    if all.collect::<JoinSet<_>>().join_all().await.into_iter().all(|complete| complete) {
        Ok(())
    } else {
        Err(Failure::Reported)
    }
}

impl Connection {
    async fn open(shared: &Shared, opening: Opening) -> Result<Self, String> {
        if shared.job.protocol == "h3" {
            h3::client::Connection::open(shared, opening).await.map(Self::H3)
        } else {
            h2::client::Connection::open(shared, opening).await.map(Self::H2)
        }
    }

    async fn fetch(&self, url: &str, object: &mut Object) -> Result<(), String> {
        match self {
            Self::H3(connection) => connection.fetch(url, object).await,
            Self::H2(connection) => connection.fetch(url, object).await,
        }
    }

    /// Send early data, once everything that is ready to run has written its part of it.
    async fn release(&self) {
        if let Self::H2(connection) = self {
            for _ in 0..READY_TURNS {
                tokio::task::yield_now().await;
            }
            connection.release();
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

/// Obtain a ticket for each connection: once suffices for one, and for two where the server gives two tickets.
async fn prime_for_all(shared: &Shared) -> Result<(), String> {
    while shared.tls.tickets.count() < shared.job.connections {
        prime(shared).await?;
    }
    Ok(())
}

/// Obtain tickets on a connection of its own, and close it properly.
async fn prime(shared: &Shared) -> Result<(), String> {
    let before = shared.tls.tickets.count();
    let connection = Connection::open(shared, Opening { primes: true, early: false, t_start_ns: now_ns() }).await?;
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
    let connection = match shared.in_time(Connection::open(&shared, opening)).await {
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
        let fetches = fetches.collect::<JoinSet<_>>();
        connection.release().await;
        complete &= fetches.join_all().await.into_iter().all(|arrived| arrived);
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
