//! A client's HTTP/2 connection over TLS 1.3.

use std::net::SocketAddr;
use std::os::fd::AsFd;
use std::sync::{Arc, Mutex};

use bytes::Bytes;
use http::Request;
use http_body_util::{BodyExt, Empty};
use hyper::client::conn::http2::{self, SendRequest};
use hyper_util::rt::{TokioExecutor, TokioIo};
use longlook_adapter::lines::ConnectionLine;
use longlook_adapter::objects::Object;
use longlook_adapter::socket::congestion_control;
use rustls::pki_types::ServerName;
use tokio::net::TcpStream;
use tokio::task::JoinHandle;
use tokio_rustls::TlsConnector;

use crate::h2::fast_open;
use crate::h2::opening::{Gate, Opening as OpeningStream};
use crate::session::{CLOSE_LIMIT, Opening, Shared};

/// Sends requests; and the task that carries them.
type Open = (SendRequest<Empty<Bytes>>, JoinHandle<()>);

/// An open connection.
pub struct Connection {
    /// Our end.
    pub local: SocketAddr,
    open: Mutex<Option<Open>>,
    gate: Arc<Gate>,
}

impl Connection {
    /// Return when the handshake is complete; or, where the first requests are early data, before it begins.
    pub async fn open(shared: &Shared, opening: Opening) -> Result<Self, String> {
        let remote = shared.job.remote;
        let socket = match shared.settings.fast_open {
            true => fast_open::connect(remote).await?,
            false => TcpStream::connect(remote).await.map_err(|error| error.to_string())?,
        };
        socket.set_nodelay(true).map_err(|error| error.to_string())?;
        let local = socket.local_addr().map_err(|error| error.to_string())?;
        let mut line = ConnectionLine::now("h2", local, remote);
        line.primes = Some(opening.primes);
        line.t_start_ns = Some(opening.t_start_ns);
        let windows = shared.settings.http2_windows;
        line.http2_stream_window = Some(windows.stream);
        line.http2_connection_window = Some(windows.connection);
        line.congestion_control = Some(congestion_control(socket.as_fd()).map_err(|error| error.to_string())?);
        let host = ServerName::try_from(shared.job.host.clone()).map_err(|error| error.to_string())?;
        let connector = TlsConnector::from(Arc::new(shared.tls.config(opening.early))).early_data(opening.early);
        let stream = connector.connect(host, socket).await.map_err(|error| error.to_string())?;
        let session = stream.get_ref().1;
        if !session.is_handshaking() && session.alpn_protocol() != Some(b"h2") {
            return Err("the server does not speak h2".into());
        }
        let gate = Arc::new(Gate::default());
        if !session.is_handshaking() {
            gate.open();
        }
        let stream = OpeningStream::new(stream, gate.clone(), line);
        let mut builder = http2::Builder::new(TokioExecutor::new());
        builder.initial_stream_window_size(windows.stream).initial_connection_window_size(windows.connection);
        let opened = builder.handshake(TokioIo::new(stream)).await;
        let (requests, driver) = opened.map_err(|error| error.to_string())?;
        let driver = tokio::spawn(async move {
            if let Err(error) = driver.await {
                eprintln!("{error}");
            }
        });
        Ok(Self { local, open: Mutex::new(Some((requests, driver))), gate })
    }

    /// Send what is held until the first requests are written: early data leaves in one piece.
    pub fn release(&self) {
        self.gate.open();
    }

    /// Request one URL and read the answer to its end.
    pub async fn fetch(&self, url: &str, object: &mut Object) -> Result<(), String> {
        let requests = self.open.lock().expect("nobody panics with it").as_ref().map(|(requests, _)| requests.clone());
        let mut requests = requests.ok_or("the connection is closed")?;
        let request = Request::get(url).body(Empty::new()).map_err(|error| error.to_string())?;
        let response = requests.send_request(request).await.map_err(|error| with_cause(&error))?;
        object.headers("h2", response.status().as_u16());
        let mut body = response.into_body();
        while let Some(frame) = body.frame().await {
            if let Some(part) = frame.map_err(|error| with_cause(&error))?.data_ref() {
                object.body(part);
            }
        }
        Ok(())
    }

    /// Send GOAWAY and FIN, which hyper does once nobody can send requests any more.
    pub async fn close(&self) {
        let open = self.open.lock().expect("nobody panics with it").take();
        if let Some((requests, driver)) = open {
            drop(requests);
            let _ = tokio::time::timeout(CLOSE_LIMIT, driver).await;
        }
    }
}

/// An error and its cause, which hyper's own text leaves out.
fn with_cause(error: &hyper::Error) -> String {
    match std::error::Error::source(error) {
        Some(cause) => format!("{error}: {cause}"),
        None => error.to_string(),
    }
}
