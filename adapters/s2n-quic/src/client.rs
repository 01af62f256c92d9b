//! A job: all connections at once, each for itself from an endpoint of its own.

use std::net::SocketAddr;
use std::sync::Arc;

use bytes::{Buf, Bytes};
use h3::client::SendRequest;
use http::Request;
use longlook_adapter::clock::now_ns;
use longlook_adapter::failure::Failure;
use longlook_adapter::job::{Job, State};
use longlook_adapter::objects::{Object, fail_all};
use longlook_adapter::socket;
use rustls::ClientConfig;
use s2n_quic::Client;
use s2n_quic::client::Connect;
use s2n_quic::connection::Handle;
use s2n_quic::provider::congestion_controller;
use s2n_quic::provider::tls::rustls::Client as Tls;
use tokio::task::{JoinHandle, JoinSet};
use tokio::time::{Instant, timeout, timeout_at};

use crate::over::{Connection as Over, Opener};
use crate::settings::{Controller, Settings};
use crate::watch::Watch;
use crate::{CLOSE_LIMIT, NO_ERROR, speaks, tls};

/// What all connections of a job share.
struct Shared {
    job: Job,
    settings: Settings,
    tls: Arc<ClientConfig>,
    deadline: Instant,
}

/// An open connection.
struct Connection {
    local: SocketAddr,
    endpoint: Client,
    handle: Handle,
    requests: SendRequest<Opener, Bytes>,
    _driver: JoinHandle<()>,
}

/// Do a job. Lines report each object; the failure says only that one did not arrive.
pub async fn run(mut job: Job) -> Result<(), Failure> {
    speaks(&job.protocol)?;
    if job.state != State::Cold {
        return Err(Failure::Unsupported("s2n-quic with rustls resumes no connection".into()));
    }
    let settings = Settings::new(false, std::mem::take(&mut job.knobs))?;
    let tls = tls::client(&job.ca)?;
    let deadline = Instant::now() + job.timeout;
    let shared = Arc::new(Shared { job, settings, tls, deadline });
    let all = (0..shared.job.connections).map(|_| shared.clone().fetch_all());
    if all.collect::<JoinSet<_>>().join_all().await.into_iter().all(|complete| complete) {
        Ok(())
    } else {
        Err(Failure::Reported)
    }
}

impl Shared {
    /// Return the result of `work`, or a failure when the job's time is over before.
    async fn in_time<T>(&self, work: impl Future<Output = Result<T, String>>) -> Result<T, String> {
        timeout_at(self.deadline, work).await.unwrap_or_else(|_| Err(self.job.too_late()))
    }

    /// Fetch the phases one after another on one connection, the paths of a phase all at once.
    async fn fetch_all(self: Arc<Self>) -> bool {
        let site = self.job.site();
        let mut t_start_ns = now_ns();
        let mut connection = match self.in_time(Connection::open(&self, t_start_ns)).await {
            Ok(connection) => connection,
            Err(reason) => {
                fail_all(&site, &self.job.phases, t_start_ns, &reason);
                return false;
            }
        };
        let mut complete = true;
        for paths in &self.job.phases {
            let fetches = paths.iter().map(|path| {
                let object = Object::new(&site, path, Some(connection.local), t_start_ns);
                self.clone().fetch_one(connection.requests.clone(), format!("{site}{path}"), object)
            });
            let fetches = fetches.collect::<JoinSet<_>>();
            complete &= fetches.join_all().await.into_iter().all(|arrived| arrived);
            t_start_ns = now_ns();
        }
        connection.close().await;
        complete
    }

    async fn fetch_one(self: Arc<Self>, requests: SendRequest<Opener, Bytes>, url: String, mut object: Object) -> bool {
        match self.in_time(fetch(requests, &url, &mut object)).await {
            Ok(()) => object.complete(),
            Err(reason) => {
                object.fail(reason);
                false
            }
        }
    }
}

impl Connection {
    /// Return when requests may be sent: after the handshake.
    async fn open(shared: &Shared, t_start_ns: u64) -> Result<Self, String> {
        let socket = socket::towards(shared.job.remote).map_err(|error| error.to_string())?;
        let local = socket.local_addr().map_err(|error| error.to_string())?;
        let (tls, watch) = (Tls::from(shared.tls.clone()), Watch::new(local, Some(t_start_ns)));
        let settings = &shared.settings;
        let started = match settings.controller {
            Controller::Cubic => start(settings, socket, tls, watch, settings.cubic()),
            Controller::Bbr => start(settings, socket, tls, watch, settings.bbr()),
        };
        let endpoint = started.map_err(|failure| failure.to_string())?;
        let connect = Connect::new(shared.job.remote).with_server_name(shared.job.host.as_str());
        let quic = endpoint.connect(connect).await.map_err(|error| error.to_string())?;
        let handle = quic.handle();
        let opened = h3::client::new(Over::new(quic)).await;
        let (mut driver, requests) = opened.map_err(|error| error.to_string())?;
        let driver = tokio::spawn(async move {
            driver.wait_idle().await;
        });
        Ok(Self { local, endpoint, handle, requests, _driver: driver })
    }

    /// Send CONNECTION_CLOSE, and return when that packet is on its way.
    async fn close(&mut self) {
        self.handle.close(NO_ERROR.into());
        let _ = timeout(CLOSE_LIMIT, self.endpoint.wait_idle()).await;
    }
}

fn start(
    settings: &Settings,
    socket: std::net::UdpSocket,
    tls: Tls,
    watch: Watch,
    controller: impl congestion_controller::Endpoint,
) -> Result<Client, Failure> {
    let Ok(builder) = Client::builder().with_tls(tls);
    let Ok(builder) = builder.with_congestion_controller(controller);
    let Ok(builder) = builder.with_event(watch);
    let Ok(builder) = builder.with_limits(settings.limits()?);
    let builder = builder.with_io(settings.io(socket)?).map_err(|error| Failure::of("UDP socket", error))?;
    builder.start().map_err(|error| Failure::of("s2n-quic", error))
}

/// Request one URL and read the answer to its end.
async fn fetch(mut requests: SendRequest<Opener, Bytes>, url: &str, object: &mut Object) -> Result<(), String> {
    let request = Request::get(url).body(()).map_err(|error| error.to_string())?;
    let mut stream = requests.send_request(request).await.map_err(|error| error.to_string())?;
    stream.finish().await.map_err(|error| error.to_string())?;
    let response = stream.recv_response().await.map_err(|error| error.to_string())?;
    object.headers(crate::PROTOCOL, response.status().as_u16());
    while let Some(mut part) = stream.recv_data().await.map_err(|error| error.to_string())? {
        while part.has_remaining() {
            let read = part.chunk().len();
            object.body(part.chunk());
            part.advance(read);
        }
    }
    Ok(())
}
