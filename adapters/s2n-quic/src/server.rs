//! HTTP/3 on one UDP socket.

use std::net::UdpSocket;
use std::sync::{Arc, Mutex};

use bytes::Bytes;
use h3::server::RequestResolver;
use longlook_adapter::failure::Failure;
use longlook_adapter::files::{Folder, read_part};
use longlook_adapter::lines::{ReadyLine, emit};
use longlook_adapter::options::ServerOptions;
use s2n_quic::connection::Handle;
use s2n_quic::provider::congestion_controller;
use s2n_quic::provider::tls::rustls::Server as Tls;
use s2n_quic::{Connection, Server};
use tokio::signal::unix::{SignalKind, signal};
use tokio::task::JoinSet;

use crate::over::Connection as Over;
use crate::settings::{Controller, Settings};
use crate::watch::Watch;
use crate::{CLOSE_LIMIT, NO_ERROR, PROTOCOL, VERSION, speaks, tls};

/// Serve until SIGTERM or SIGINT, then send CONNECTION_CLOSE on every connection: a client that is not done has been
/// given up on.
pub async fn run(mut options: ServerOptions) -> Result<(), Failure> {
    speaks(&options.protocol)?;
    let settings = Settings::new(true, std::mem::take(&mut options.knobs))?;
    let files = Arc::new(Folder::open(&options.www)?);
    let tls = tls::server(&options.certificate, &options.key)?;
    let socket = UdpSocket::bind(options.listen).map_err(|error| Failure::of(options.listen, error))?;
    let local = socket.local_addr().map_err(|error| Failure::of("UDP socket", error))?;
    let catch = |kind| signal(kind).map_err(|error| Failure::of("signals", error));
    let (mut terminate, mut interrupt) = (catch(SignalKind::terminate())?, catch(SignalKind::interrupt())?);
    let watch = Watch::new(local, None);
    let mut endpoint = match settings.controller {
        Controller::Cubic => start(&settings, socket, Tls::from(tls), watch, settings.cubic()),
        Controller::Bbr => start(&settings, socket, Tls::from(tls), watch, settings.bbr()),
    }?;
    emit(&ReadyLine::new(PROTOCOL, local, VERSION));
    let open = Open::default();
    let mut conversations = JoinSet::new();
    loop {
        tokio::select! {
            accepted = endpoint.accept() => match accepted {
                Some(connection) => drop(conversations.spawn(converse(connection, files.clone(), open.clone()))),
                None => return Err(Failure::Failed("the UDP socket failed".into())),
            },
            Some(_) = conversations.join_next() => {}
            _ = terminate.recv() => break,
            _ = interrupt.recv() => break,
        }
    }
    if open.close() {
        tokio::time::sleep(CLOSE_LIMIT).await; // s2n-quic does not say when the packets are on their way
    }
    Ok(())
}

fn start(
    settings: &Settings,
    socket: UdpSocket,
    tls: Tls,
    watch: Watch,
    controller: impl congestion_controller::Endpoint,
) -> Result<Server, Failure> {
    let Ok(builder) = Server::builder().with_tls(tls);
    let Ok(builder) = builder.with_congestion_controller(controller);
    let Ok(builder) = builder.with_event(watch);
    let Ok(builder) = builder.with_limits(settings.limits()?);
    let Ok(builder) = builder.with_endpoint_limits(settings.admission());
    let builder = builder.with_io(settings.io(socket)?).map_err(|error| Failure::of("UDP socket", error))?;
    builder.start().map_err(|error| Failure::of("s2n-quic", error))
}

/// The connections that are open.
#[derive(Clone, Default)]
struct Open(Arc<Mutex<Vec<Handle>>>);

impl Open {
    fn add(&self, handle: Handle) {
        self.0.lock().expect("nobody panics with it").push(handle);
    }

    fn remove(&self, id: u64) {
        self.0.lock().expect("nobody panics with it").retain(|handle| handle.id() != id);
    }

    /// Close all, and return whether there were any.
    fn close(&self) -> bool {
        let handles = self.0.lock().expect("nobody panics with it");
        handles.iter().for_each(|handle| handle.close(NO_ERROR.into()));
        !handles.is_empty()
    }
}

/// Answer the requests of a connection until it ends.
async fn converse(connection: Connection, files: Arc<Folder>, open: Open) {
    let handle = connection.handle();
    let id = handle.id();
    open.add(handle);
    if let Ok(mut requests) = h3::server::Connection::new(Over::new(connection)).await {
        while let Ok(Some(request)) = requests.accept().await {
            let files = files.clone();
            tokio::spawn(async move {
                if let Err(reason) = answer(request, &files).await {
                    eprintln!("{reason}");
                }
            });
        }
    }
    open.remove(id);
}

async fn answer(request: RequestResolver<Over, Bytes>, files: &Folder) -> Result<(), String> {
    let (request, mut stream) = request.resolve_request().await.map_err(|error| error.to_string())?;
    let mut answer = files.answer(request.method().as_str(), request.uri().path());
    let head = answer
        .headers()
        .into_iter()
        .fold(http::Response::builder().status(answer.status), |head, (name, value)| head.header(name, value));
    let head = head.body(()).map_err(|error| error.to_string())?;
    stream.send_response(head).await.map_err(|error| error.to_string())?;
    if let Some(file) = &mut answer.body {
        let mut left = answer.length;
        while left > 0 {
            let part = read_part(file, &mut left).map_err(|error| error.to_string())?;
            stream.send_data(Bytes::from(part)).await.map_err(|error| error.to_string())?;
        }
    }
    stream.finish().await.map_err(|error| error.to_string())
}
