//! The answers of all connections, as far as their streams take them.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::rc::Rc;

use bytes::Bytes;
use longlook_adapter::failure::Failure;
use longlook_adapter::files::Folder;
use longlook_adapter::lines::{ConnectionLine, emit};
use longlook_adapter::{head, response};
use tquic::h3::connection::Http3Connection;
use tquic::h3::{Header, Http3Config, Http3Error, Http3Event, NameValue};
use tquic::{Connection, Shutdown, TransportHandler};

use crate::socket;

type Response = response::Response<Bytes>;

/// The connections of a server, which the handler and the server's loop share.
pub struct Serving {
    local: SocketAddr,
    files: Folder,
    http: Http3Config,
    connections: BTreeMap<u64, Served>,
}

struct Served {
    peer: SocketAddr,
    http: Option<Http3Connection>,
    responses: BTreeMap<u64, Response>,
}

/// The object that tquic calls.
pub struct Handler(pub Rc<RefCell<Serving>>);

impl Serving {
    /// Nobody is connected yet.
    pub fn new(local: SocketAddr, files: Folder) -> Result<Self, Failure> {
        let http = Http3Config::new().map_err(|error| Failure::of("HTTP/3", error))?;
        Ok(Self { local, files, http, connections: BTreeMap::new() })
    }

    /// tquic's numbers of the open connections.
    pub fn open(&self) -> Vec<u64> {
        self.connections.keys().copied().collect()
    }

    fn served(&mut self, quic: &Connection) -> Option<&mut Served> {
        self.connections.get_mut(&quic.index()?)
    }

    fn created(&mut self, quic: &mut Connection) {
        let (Some(index), Some(path)) = (quic.index(), quic.paths_iter().next()) else { return };
        socket::log(quic, path.remote, "server");
        let served = Served { peer: path.remote, http: None, responses: BTreeMap::new() };
        self.connections.insert(index, served);
    }

    fn established(&mut self, quic: &mut Connection) {
        let local = self.local;
        let Some(served) = self.served(quic) else { return };
        let mut line = ConnectionLine::now("h3", local, served.peer);
        line.resumed = quic.is_resumed();
        line.used_0rtt = socket::used_early_data(quic);
        line.gso = Some(false);
        emit(&line);
        self.begin_http(quic);
    }

    /// With early data this is before the handshake is complete.
    fn begin_http(&mut self, quic: &mut Connection) {
        let Some(served) = quic.index().and_then(|index| self.connections.get_mut(&index)) else { return };
        if served.http.is_none() && (quic.is_established() || quic.is_in_early_data()) {
            match Http3Connection::new_with_quic_conn(quic, &self.http) {
                Ok(http) => served.http = Some(http),
                Err(error) => eprintln!("HTTP/3: {error}"),
            }
        }
    }

    /// Take the requests that have come, and begin their answers.
    fn readable(&mut self, quic: &mut Connection) {
        self.begin_http(quic);
        let Some(served) = quic.index().and_then(|index| self.connections.get_mut(&index)) else { return };
        while let Some(http) = &mut served.http {
            match http.poll(quic) {
                Ok((stream, Http3Event::Headers { headers, .. })) => {
                    let field = |name| head::value(headers.iter().map(|field| (field.name(), field.value())), name);
                    let answer = self.files.answer(&field(":method"), &field(":path"));
                    served.responses.insert(stream, Response::new(answer));
                    served.write(quic, stream);
                }
                Ok((stream, Http3Event::Reset(_))) => {
                    served.responses.remove(&stream);
                }
                Ok(_) => {}
                Err(Http3Error::Done) => return,
                Err(error) => return eprintln!("HTTP/3: {error}"),
            }
        }
    }
}

impl Served {
    /// Write what the stream takes; tquic is not to call again for a stream with nothing to write.
    fn write(&mut self, quic: &mut Connection, stream: u64) {
        let waits = match (&mut self.http, self.responses.get_mut(&stream)) {
            (Some(http), Some(response)) => match write(response, stream, http, quic) {
                Ok(complete) => !complete,
                Err(reason) => {
                    eprintln!("stream {stream}: {reason}");
                    let _ = quic.stream_shutdown(stream, Shutdown::Write, Http3Error::InternalError.to_wire());
                    false
                }
            },
            _ => false,
        };
        if !waits {
            self.responses.remove(&stream);
            let _ = quic.stream_want_write(stream, false); // an error: the stream is gone
        }
    }
}

/// Write what the stream takes. Return whether all is written; if not, tquic calls when the stream takes more.
fn write(
    response: &mut Response,
    stream: u64,
    http: &mut Http3Connection,
    quic: &mut Connection,
) -> Result<bool, String> {
    if !response.head_sent {
        response.head_sent = true;
        let fields = response.head().map(|(name, value)| Header::new(name.as_bytes(), value.as_bytes()));
        match http.send_headers(quic, stream, &fields, response.is_last()) {
            Ok(()) => {}
            Err(Http3Error::StreamBlocked) => return Ok(false), // kept by HTTP/3, and sent before the body
            Err(error) => return Err(error.to_string()),
        }
    }
    while response.read().map_err(|error| error.to_string())? {
        let (part, taken) = response.part();
        match http.send_body(quic, stream, part.slice(taken..), response.is_last()) {
            Ok(written) => response.sent(written),
            Err(Http3Error::NoError) => {} // the head that was kept
            Err(Http3Error::Done | Http3Error::StreamBlocked) => return Ok(false),
            Err(error) => return Err(error.to_string()),
        }
    }
    Ok(true)
}

impl TransportHandler for Handler {
    fn on_conn_created(&mut self, quic: &mut Connection) {
        self.0.borrow_mut().created(quic);
    }

    fn on_conn_established(&mut self, quic: &mut Connection) {
        self.0.borrow_mut().established(quic);
    }

    fn on_conn_closed(&mut self, quic: &mut Connection) {
        if let Some(index) = quic.index() {
            self.0.borrow_mut().connections.remove(&index);
        }
    }

    fn on_stream_created(&mut self, _: &mut Connection, _: u64) {}

    fn on_stream_readable(&mut self, quic: &mut Connection, _: u64) {
        self.0.borrow_mut().readable(quic);
    }

    fn on_stream_writable(&mut self, quic: &mut Connection, stream: u64) {
        if let Some(served) = self.0.borrow_mut().served(quic) {
            served.write(quic, stream);
        }
    }

    fn on_stream_closed(&mut self, quic: &mut Connection, stream: u64) {
        if let Some(served) = self.0.borrow_mut().served(quic) {
            served.responses.remove(&stream);
            if let Some(http) = &mut served.http {
                http.stream_destroy(stream);
            }
        }
    }

    fn on_new_token(&mut self, _: &mut Connection, _: Vec<u8>) {}
}
