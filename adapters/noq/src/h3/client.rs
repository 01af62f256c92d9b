//! A client's HTTP/3 connection, from a socket of its own.

use std::net::{SocketAddr, UdpSocket};
use std::sync::Arc;

use bytes::{Buf, Bytes};
use h3::client::SendRequest;
use http::Request;
use longlook_adapter::lines::{ConnectionLine, emit};
use longlook_adapter::objects::Object;
use longlook_adapter::socket;
use noq::crypto::rustls::QuicClientConfig;
use noq::{ClientConfig, Endpoint, EndpointConfig, TokioRuntime};
use tokio::task::JoinHandle;

use crate::session::{CLOSE_LIMIT, Opening, Shared};
use crate::state::{State, Watched};

use super::NO_ERROR;
use super::moving::{self, Arrivals};
use super::over::{Connection as Over, Opener};
use super::paths::{SecondPath, socket_of_all};

/// An open connection.
pub struct Connection {
    /// Our end.
    pub local: SocketAddr,
    endpoint: Endpoint,
    quic: noq::Connection,
    requests: SendRequest<Opener, Bytes>,
    seen: Arc<Arrivals>,
    moving: Option<JoinHandle<()>>,
    second_path: SecondPath,
    t_start_ns: u64,
    _driver: JoinHandle<()>,
}

/// The ends of a connection, and whether the kernel segments its datagrams.
#[derive(Clone, Copy)]
struct Sending {
    local: SocketAddr,
    remote: SocketAddr,
    offloads: bool,
}

impl Connection {
    /// Return when requests may be sent: with early data before the handshake is complete.
    pub async fn open(shared: &Shared, opening: Opening) -> Result<Self, String> {
        let remote = shared.job.remote;
        let second = shared.settings.second_path(shared.job.second_address).map_err(|failure| failure.to_string())?;
        let second = second.filter(|_| !opening.primes);
        let opened = if second.is_some() { socket_of_all(remote) } else { socket_of_one(remote) };
        let (socket, local) = opened.map_err(|error| error.to_string())?;
        let sending = Sending { local, remote, offloads: shared.settings.offloads(&socket) };
        let endpoint = Endpoint::new(EndpointConfig::default(), None, socket, Arc::new(TokioRuntime))
            .map_err(|error| error.to_string())?;
        let tls = QuicClientConfig::try_from(shared.tls.config(opening.early)).map_err(|error| error.to_string())?;
        let mut config = ClientConfig::new(Arc::new(Watched::new(tls, shared.tls.verifications.clone())));
        config.transport_config(Arc::new(shared.settings.transport(local, "client")));
        let connecting = endpoint.connect_with(config, remote, &shared.job.host);
        let connecting = connecting.map_err(|error| error.to_string())?;
        let quic = match if opening.early { connecting.into_0rtt() } else { Err(connecting) } {
            Ok((quic, handshake)) => {
                let watched = quic.clone();
                tokio::spawn(async move {
                    let used_0rtt = handshake.await;
                    report(&watched, sending, opening, used_0rtt);
                });
                quic
            }
            Err(connecting) => {
                let quic = connecting.await.map_err(|error| error.to_string())?;
                report(&quic, sending, opening, false);
                quic
            }
        };
        let second_path = SecondPath::default();
        if let Some(from) = second {
            tokio::spawn(second_path.clone().open(quic.clone(), remote, from));
        }
        let opened = h3::client::new(Over::new(quic.clone())).await;
        let (mut driver, requests) = opened.map_err(|error| error.to_string())?;
        let driver = tokio::spawn(async move {
            driver.wait_idle().await;
        });
        let seen = Arc::new(Arrivals::default());
        let moves = shared.settings.moves;
        let to = moves.to(shared.job.second_address).map_err(|failure| failure.to_string())?;
        let moving = to
            .filter(|_| !opening.primes)
            .map(|to| tokio::spawn(moving::run(moves, endpoint.clone(), local, to, opening.t_start_ns, seen.clone())));
        Ok(Self {
            local,
            endpoint,
            quic,
            requests,
            seen,
            moving,
            second_path,
            t_start_ns: opening.t_start_ns,
            _driver: driver,
        })
    }

    /// Request one URL and read the answer to its end.
    pub async fn fetch(&self, url: &str, object: &mut Object) -> Result<(), String> {
        let _awaited = self.seen.awaited();
        let request = Request::get(url).body(()).map_err(|error| error.to_string())?;
        let mut stream = self.requests.clone().send_request(request).await.map_err(|error| error.to_string())?;
        stream.finish().await.map_err(|error| error.to_string())?;
        let response = stream.recv_response().await.map_err(|error| error.to_string())?;
        object.headers("h3", response.status().as_u16());
        while let Some(mut part) = stream.recv_data().await.map_err(|error| error.to_string())? {
            self.seen.came();
            while part.has_remaining() {
                let read = part.chunk().len();
                object.body(part.chunk());
                part.advance(read);
            }
        }
        Ok(())
    }

    /// Send CONNECTION_CLOSE, and return when that packet is on its way.
    pub async fn close(&self) {
        if let Some(moving) = &self.moving {
            moving.abort();
        }
        self.second_path.report(&self.quic, self.local, self.t_start_ns);
        self.quic.close(NO_ERROR, b"");
        let _ = tokio::time::timeout(CLOSE_LIMIT, self.endpoint.wait_idle()).await;
    }
}

/// Open a socket on the address that the kernel sends to `remote` from.
fn socket_of_one(remote: SocketAddr) -> std::io::Result<(UdpSocket, SocketAddr)> {
    let socket = socket::towards(remote)?;
    let local = socket.local_addr()?;
    Ok((socket, local))
}

/// The connection's line, unless its handshake failed.
fn report(quic: &noq::Connection, sending: Sending, opening: Opening, used_0rtt: bool) {
    let data = quic.handshake_data().and_then(|data| data.downcast::<State>().ok());
    let (None, Some(state)) = (quic.close_reason(), data) else { return };
    let mut line = ConnectionLine::now("h3", sending.local, sending.remote);
    line.primes = Some(opening.primes);
    line.t_start_ns = Some(opening.t_start_ns);
    line.resumed = state.resumed;
    line.used_0rtt = used_0rtt;
    line.gso = Some(sending.offloads);
    emit(&line);
}
