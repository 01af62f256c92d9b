//! HTTP/2 over TLS 1.3 and nothing else; it announces no Alt-Svc.

use std::convert::Infallible;
use std::fs::File;
use std::net::SocketAddr;
use std::os::fd::AsFd;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::Bytes;
use http::{Request, Response};
use http_body::{Body, Frame};
use hyper::body::Incoming;
use hyper::server::conn::http2;
use hyper::service::service_fn;
use hyper_util::rt::{TokioExecutor, TokioIo};
use longlook_adapter::failure::Failure;
use longlook_adapter::files::Folder;
use longlook_adapter::lines::{ConnectionLine, ReadyLine, emit};
use longlook_adapter::options::ServerOptions;
use longlook_adapter::socket::congestion_control;
use rustls::{ServerConfig, ServerConnection};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use tokio::task::JoinSet;

use crate::VERSION;
use crate::body::{head, next_part};
use crate::h2::accepting::Accepting;
use crate::h2::fast_open;
use crate::session::CLOSE_LIMIT;
use crate::settings::Settings;
use crate::tls;

const HANDSHAKE_LIMIT: Duration = Duration::from_secs(10);
/// Of one connection: requests, not uploads.
const EARLY_DATA_BYTES: u32 = 1 << 16;

struct Server {
    tls: Arc<ServerConfig>,
    files: Folder,
    http: http2::Builder<TokioExecutor>,
    stop: watch::Receiver<bool>,
}

/// Serve until `stop`, then let idle connections go with GOAWAY, and cut those that are still busy.
pub async fn serve(
    options: &ServerOptions,
    settings: &Settings,
    files: Folder,
    stop: impl Future<Output = ()>,
) -> Result<(), Failure> {
    let mut tls =
        tls::server(&options.certificate, &options.key, "h2", if settings.allow_0rtt { EARLY_DATA_BYTES } else { 0 })?;
    tls.send_half_rtt_data = true; // early data is answered before the handshake is complete
    let listener = TcpListener::bind(options.listen).await.map_err(|error| Failure::of(options.listen, error))?;
    if settings.fast_open {
        fast_open::accept(&listener)?;
    }
    let local = listener.local_addr().map_err(|error| Failure::of("TCP socket", error))?;
    let mut http = http2::Builder::new(TokioExecutor::new());
    if let Some(streams) = settings.max_incoming_streams {
        http.max_concurrent_streams(streams as u32);
    }
    let (stopping, seen) = watch::channel(false);
    let server = Arc::new(Server { tls: Arc::new(tls), files, http, stop: seen });
    let mut connections = JoinSet::new();
    emit(&ReadyLine::new("h2", local, VERSION));
    tokio::pin!(stop);
    loop {
        tokio::select! {
            accepted = listener.accept() => match accepted {
                Ok((socket, client)) => { connections.spawn(server.clone().converse(socket, client)); }
                Err(error) => eprintln!("accept: {error}"),
            },
            Some(_) = connections.join_next() => {}
            () = &mut stop => break,
        }
    }
    drop(listener);
    stopping.send_replace(true);
    let all = async { while connections.join_next().await.is_some() {} };
    let _ = tokio::time::timeout(CLOSE_LIMIT, all).await;
    Ok(())
}

impl Server {
    async fn converse(self: Arc<Self>, socket: TcpStream, client: SocketAddr) {
        let stream = match tokio::time::timeout(HANDSHAKE_LIMIT, self.handshake(socket, client)).await {
            Ok(Ok(stream)) => stream,
            Ok(Err(reason)) => return eprintln!("handshake with {client}: {reason}"),
            Err(_) => return eprintln!("handshake with {client}: too slow"),
        };
        let service = service_fn(|request: Request<Incoming>| {
            let response = self.answer(request.method().as_str(), request.uri().path());
            async move { Ok::<_, Infallible>(response) }
        });
        let mut connection = std::pin::pin!(self.http.serve_connection(TokioIo::new(stream), service));
        let mut stop = self.stop.clone();
        let ended = tokio::select! {
            ended = connection.as_mut() => ended,
            () = async { drop(stop.wait_for(|on| *on).await) } => {
                connection.as_mut().graceful_shutdown();
                connection.await
            }
        };
        if let Err(error) = ended {
            eprintln!("connection of {client}: {error}");
        }
    }

    async fn handshake(&self, socket: TcpStream, client: SocketAddr) -> Result<Accepting, String> {
        socket.set_nodelay(true).map_err(|error| error.to_string())?;
        let local = socket.local_addr().map_err(|error| error.to_string())?;
        let mut line = ConnectionLine::now("h2", local, client);
        line.congestion_control = Some(congestion_control(socket.as_fd()).map_err(|error| error.to_string())?);
        let session = ServerConnection::new(self.tls.clone()).map_err(|error| error.to_string())?;
        let stream = Accepting::new(socket, session, line).await.map_err(|error| error.to_string())?;
        if stream.protocol() != Some(b"h2") {
            return Err("the client did not offer h2".into());
        }
        Ok(stream)
    }

    fn answer(&self, method: &str, path: &str) -> Response<FileBody> {
        let answer = self.files.answer(method, path);
        let head = head(&answer);
        let left = answer.body_bytes();
        head.body(FileBody { file: answer.body, left }).expect("the headers are constants and numbers")
    }
}

struct FileBody {
    file: Option<File>,
    left: u64,
}

impl Body for FileBody {
    type Data = Bytes;
    type Error = std::io::Error;

    fn poll_frame(mut self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<Option<std::io::Result<Frame<Bytes>>>> {
        let Self { file: Some(file), left: left @ 1.. } = &mut *self else { return Poll::Ready(None) };
        Poll::Ready(Some(next_part(file, left).map(Frame::data)))
    }

    fn is_end_stream(&self) -> bool {
        self.left == 0
    }
}
