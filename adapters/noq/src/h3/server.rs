//! HTTP/3 on one UDP socket.

use std::net::{SocketAddr, UdpSocket};
use std::sync::Arc;

use bytes::Bytes;
use h3::server::RequestResolver;
use longlook_adapter::clock::now_ns;
use longlook_adapter::failure::Failure;
use longlook_adapter::files::Folder;
use longlook_adapter::lines::{ConnectionLine, ReadyLine, emit};
use longlook_adapter::options::ServerOptions;
use noq::crypto::rustls::QuicServerConfig;
use noq::{Connecting, Endpoint, EndpointConfig, Incoming, ServerConfig, TokioRuntime};

use crate::VERSION;
use crate::body::{head, next_part};
use crate::session::CLOSE_LIMIT;
use crate::settings::Settings;
use crate::state::{State, Watched};
use crate::tls;

use super::NO_ERROR;
use super::over::Connection as Over;

struct Server {
    settings: Settings,
    shared: ServerConfig,
    files: Folder,
    local: SocketAddr,
    offloads: bool,
}

/// Serve until `stop`, then send CONNECTION_CLOSE on every connection: a client that is not done has been given up on.
pub async fn serve(
    options: &ServerOptions,
    settings: Settings,
    files: Folder,
    stop: impl Future<Output = ()>,
) -> Result<(), Failure> {
    let mut tls =
        tls::server(&options.certificate, &options.key, "h3", if settings.allow_0rtt { u32::MAX } else { 0 })?;
    let marks = tls::count_resumptions(&mut tls);
    let tls = QuicServerConfig::try_from(tls).map_err(|error| Failure::of("TLS", error))?;
    let shared = ServerConfig::with_crypto(Arc::new(Watched::new(tls, marks)));
    let socket = bound(options.listen)?;
    let offloads = settings.offloads(&socket);
    let endpoint = Endpoint::new(EndpointConfig::default(), Some(shared.clone()), socket, Arc::new(TokioRuntime));
    let endpoint = endpoint.map_err(|error| Failure::of("UDP socket", error))?;
    let local = endpoint.local_addr().map_err(|error| Failure::of("UDP socket", error))?;
    let server = Arc::new(Server { settings, shared, files, local, offloads });
    emit(&ReadyLine::new("h3", local, VERSION));
    tokio::pin!(stop);
    loop {
        tokio::select! {
            incoming = endpoint.accept() => match incoming {
                Some(incoming) => server.clone().accept(incoming),
                None => return Err(Failure::Failed("the UDP socket failed".into())),
            },
            () = &mut stop => break,
        }
    }
    endpoint.close(NO_ERROR, b"");
    let _ = tokio::time::timeout(CLOSE_LIMIT, endpoint.wait_idle()).await; // an unreachable client is not waited for
    Ok(())
}

fn bound(to: SocketAddr) -> Result<UdpSocket, Failure> {
    UdpSocket::bind(to).map_err(|error| Failure::of(to, error))
}

impl Server {
    /// With a configuration of its own for each connection, because its trace is its own.
    fn accept(self: Arc<Self>, incoming: Incoming) {
        let client = incoming.remote_address();
        if self.settings.retry && !incoming.remote_address_validated() {
            if let Err(error) = incoming.retry() {
                eprintln!("connection of {client}: {error}");
            }
            return;
        }
        let mut config = self.shared.clone();
        config.transport_config(Arc::new(self.settings.transport(client, "server")));
        match incoming.accept_with(Arc::new(config)) {
            Ok(connecting) => {
                tokio::spawn(self.converse(connecting, client));
            }
            Err(error) => eprintln!("connection of {client}: {error}"),
        }
    }

    /// Requests may come before the handshake is complete, as early data.
    async fn converse(self: Arc<Self>, mut connecting: Connecting, client: SocketAddr) {
        // A ClientHello may need two packets. Before it is whole the client's limits are unknown, and what waits to open a
        // stream then is never woken.
        if let Err(error) = connecting.handshake_data().await {
            return eprintln!("handshake: {error}");
        }
        let ip = connecting.local_ip();
        let Ok((connection, handshake)) = connecting.into_0rtt() else { return }; // a server always may
        let local = ip.map_or(self.local, |ip| SocketAddr::new(ip, self.local.port()));
        let offloads = self.offloads;
        let watched = connection.clone();
        tokio::spawn(async move {
            handshake.await;
            report(&watched, local, client, offloads);
        });
        let Ok(mut requests) = h3::server::Connection::new(Over::new(connection)).await else { return };
        while let Ok(Some(request)) = requests.accept().await {
            let server = self.clone();
            tokio::spawn(async move {
                if let Err(reason) = server.answer(request).await {
                    eprintln!("{reason}");
                }
            });
        }
    }

    async fn answer(&self, request: RequestResolver<Over, Bytes>) -> Result<(), String> {
        let (request, mut stream) = request.resolve_request().await.map_err(|error| error.to_string())?;
        let mut answer = self.files.answer(request.method().as_str(), request.uri().path());
        let response = head(&answer).body(()).map_err(|error| error.to_string())?;
        stream.send_response(response).await.map_err(|error| error.to_string())?;
        if let Some(file) = &mut answer.body {
            let mut left = answer.length;
            while left > 0 {
                let part = next_part(file, &mut left).map_err(|error| error.to_string())?;
                stream.send_data(part).await.map_err(|error| error.to_string())?;
            }
        }
        stream.finish().await.map_err(|error| error.to_string())
    }
}

/// The connection's line, unless its handshake failed.
fn report(connection: &noq::Connection, local: SocketAddr, client: SocketAddr, offloads: bool) {
    let handshake = now_ns();
    let data = connection.handshake_data().and_then(|data| data.downcast::<State>().ok());
    let (None, Some(state)) = (connection.close_reason(), data) else { return };
    let mut line = ConnectionLine::now("h3", local, client);
    line.t_handshake_ns = handshake;
    line.resumed = state.resumed;
    line.used_0rtt = state.used_0rtt;
    line.gso = Some(offloads);
    emit(&line);
}
