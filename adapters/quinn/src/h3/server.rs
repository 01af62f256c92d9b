//! HTTP/3 on one UDP socket.

use std::net::{IpAddr, SocketAddr, SocketAddrV4, UdpSocket};
use std::sync::Arc;

use bytes::Bytes;
use h3::server::RequestResolver;
use longlook_adapter::clock::now_ns;
use longlook_adapter::failure::Failure;
use longlook_adapter::files::Folder;
use longlook_adapter::lines::{ConnectionLine, ReadyLine, emit};
use longlook_adapter::options::ServerOptions;
use quinn::crypto::rustls::QuicServerConfig;
use quinn::{AsyncUdpSocket, Connecting, Endpoint, EndpointConfig, Incoming, Runtime, ServerConfig, TokioRuntime};

use crate::VERSION;
use crate::body::{head, next_part};
use crate::session::CLOSE_LIMIT;
use crate::settings::Settings;
use crate::state::{State, Watched};
use crate::tls;

use super::NO_ERROR;
use super::two_addresses::TwoAddresses;

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
    let mut shared = ServerConfig::with_crypto(Arc::new(Watched::new(tls, marks)));
    let socket = bound(options.listen)?;
    let offloads = settings.offloads(&socket);
    let socket: std::io::Result<Arc<dyn AsyncUdpSocket>> = if let Some(ip) = settings.preferred_address {
        let preferred = bound(SocketAddr::new(IpAddr::V4(ip), options.listen.port()))?;
        shared.preferred_address_v4(Some(SocketAddrV4::new(ip, options.listen.port())));
        TwoAddresses::new(socket, preferred).map(|both| Arc::new(both) as Arc<dyn AsyncUdpSocket>)
    } else {
        TokioRuntime.wrap_udp_socket(socket)
    };
    let socket = socket.map_err(|error| Failure::of("UDP socket", error))?;
    let runtime = Arc::new(TokioRuntime);
    let endpoint = Endpoint::new_with_abstract_socket(EndpointConfig::default(), Some(shared.clone()), socket, runtime);
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
        let mut config = self.shared.clone();
        config.transport_config(Arc::new(self.settings.transport(client, "server")));
        match incoming.accept_with(Arc::new(config)) {
            Ok(connecting) => {
                tokio::spawn(self.converse(connecting));
            }
            Err(error) => eprintln!("connection of {client}: {error}"),
        }
    }

    /// Requests may come before the handshake is complete, as early data.
    async fn converse(self: Arc<Self>, mut connecting: Connecting) {
        // A ClientHello may need two packets. Before it is whole the client's limits are unknown, and what waits to open a
        // stream then is never woken.
        if let Err(error) = connecting.handshake_data().await {
            return eprintln!("handshake: {error}");
        }
        let Ok((connection, handshake)) = connecting.into_0rtt() else { return }; // a server always may
        let (local, offloads) = (self.local, self.offloads);
        let watched = connection.clone();
        tokio::spawn(async move {
            handshake.await;
            report(&watched, local, offloads);
        });
        let Ok(mut requests) = h3::server::Connection::new(h3_quinn::Connection::new(connection)).await else { return };
        while let Ok(Some(request)) = requests.accept().await {
            let server = self.clone();
            tokio::spawn(async move {
                if let Err(reason) = server.answer(request).await {
                    eprintln!("{reason}");
                }
            });
        }
    }

    async fn answer(&self, request: RequestResolver<h3_quinn::Connection, Bytes>) -> Result<(), String> {
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
fn report(connection: &quinn::Connection, listening: SocketAddr, offloads: bool) {
    let handshake = now_ns();
    let data = connection.handshake_data().and_then(|data| data.downcast::<State>().ok());
    let (None, Some(state)) = (connection.close_reason(), data) else { return };
    let local = connection.local_ip().map_or(listening, |ip| SocketAddr::new(ip, listening.port()));
    let mut line = ConnectionLine::now("h3", local, connection.remote_address());
    line.t_handshake_ns = handshake;
    line.resumed = state.resumed;
    line.used_0rtt = state.used_0rtt;
    line.gso = Some(offloads);
    emit(&line);
}
