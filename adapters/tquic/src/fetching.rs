//! HTTP/3 of one client's connection, between tquic's calls and the client's loop.

use std::cell::RefCell;
use std::net::SocketAddr;
use std::rc::Rc;

use longlook_adapter::clock::now_ns;
use longlook_adapter::ending::{ConnectionError, Ending};
use longlook_adapter::head;
use longlook_adapter::transport::{Answers, Established, Event, SharedLoad, take_answers};
use tquic::h3::connection::Http3Connection;
use tquic::h3::{Header, Http3Config, Http3Error, Http3Event, NameValue};
use tquic::{Connection, TransportHandler};

use crate::socket;

/// A connection's requests and answers.
pub struct Fetching {
    load: SharedLoad,
    local: SocketAddr,
    /// Both ends of a further path, which is opened when the handshake is complete.
    also: Option<(SocketAddr, SocketAddr)>,
    /// Our end of each path, and when it was begun.
    pub began_ns: Vec<(SocketAddr, u64)>,
    http: Option<Http3Connection>,
    /// The server allows no more requests. tquic does not report when it allows more, and each attempt sends a
    /// STREAMS_BLOCKED: none is made until an answer is complete, and then whenever the server sends something.
    limited: bool,
    /// Answers that no new request has followed.
    freed: usize,
    /// How the handshake ended, until the loop takes it.
    pub established: Option<Established>,
    /// tquic closes without a code where TLS fails; the reason is known when it happens, and never again.
    pub tls_failure: Option<String>,
    /// Why the connection ended that tquic has forgotten.
    pub ended: Option<String>,
}

/// The object that tquic calls.
pub struct Handler(pub Rc<RefCell<Fetching>>);

struct Http<'a> {
    http: &'a mut Http3Connection,
    quic: &'a mut Connection,
    /// Answers that ended.
    ended: usize,
}

impl Fetching {
    /// Nothing is connected yet; `local` is the client's end, `also` both ends of a further path.
    pub fn new(load: SharedLoad, local: SocketAddr, also: Option<(SocketAddr, SocketAddr)>) -> Self {
        let began_ns = vec![(local, now_ns())];
        let (http, limited, freed, established, tls_failure, ended) = Default::default();
        Self { load, local, also, began_ns, http, limited, freed, established, tls_failure, ended }
    }

    /// Note that something has come from the server, and why tquic refused it if it did.
    pub fn heard(&mut self, error: Option<tquic::Error>) {
        self.limited &= self.freed == 0;
        if let Some(tquic::Error::TlsFail(reason)) = error {
            self.tls_failure.get_or_insert(reason);
        }
    }

    /// Request a path on a new stream. Return the stream, or None where no request is possible now.
    pub fn open_request(&mut self, quic: &mut Connection, authority: &str, path: &str) -> Option<u64> {
        self.begin_http(quic);
        let http = self.http.as_mut().filter(|_| !self.limited)?;
        let stream = match http.stream_new(quic) {
            Ok(stream) => stream,
            Err(Http3Error::TransportError(tquic::Error::StreamLimitError)) => {
                self.limited = true;
                return None;
            }
            Err(error) => {
                eprintln!("request: {error}"); // the connection is about to report why
                return None;
            }
        };
        self.freed = self.freed.saturating_sub(1);
        let fields = head::request(authority, path);
        let fields = fields.map(|(name, value)| Header::new(name.as_bytes(), value.as_bytes()));
        match http.send_headers(quic, stream, &fields, true) {
            Ok(()) => drop(quic.stream_want_write(stream, false)),
            Err(Http3Error::StreamBlocked) => {} // kept by HTTP/3 until the stream takes them
            Err(error) => eprintln!("request: {error}"),
        }
        Some(stream)
    }

    /// Begin HTTP/3 if that is possible: the handshake is complete, or early data can be sent.
    fn begin_http(&mut self, quic: &mut Connection) {
        if self.http.is_none() && (quic.is_established() || quic.is_in_early_data()) {
            match Http3Config::new().and_then(|config| Http3Connection::new_with_quic_conn(quic, &config)) {
                Ok(http) => self.http = Some(http),
                Err(error) => eprintln!("HTTP/3: {error}"),
            }
        }
    }

    /// Open the further path, if there is one and the server agreed to several.
    fn open_path(&mut self, quic: &mut Connection) {
        let Some((local, remote)) = self.also.filter(|_| quic.is_multipath()) else { return };
        self.began_ns.push((local, now_ns()));
        if let Err(error) = quic.add_path(local, remote) {
            eprintln!("path from {local}: {error}");
        }
    }

    /// Write to a stream that takes more: the head that HTTP/3 has kept, or nothing.
    fn writable(&mut self, quic: &mut Connection, stream: u64) {
        if let Some(http) = &mut self.http {
            let _ = http.send_body(quic, stream, bytes::Bytes::new(), false); // an error: nothing was kept
        }
        let _ = quic.stream_want_write(stream, false); // an error: the stream is gone
    }

    fn readable(&mut self, quic: &mut Connection) {
        let Some(http) = &mut self.http else { return };
        let mut answers = Http { http, quic, ended: 0 };
        take_answers(&mut answers, &mut self.load.borrow_mut());
        if answers.ended > 0 {
            (self.freed, self.limited) = (self.freed + answers.ended, false);
        }
    }
}

impl Answers for Http<'_> {
    fn poll(&mut self) -> Option<(u64, Event)> {
        let (stream, event) = match self.http.poll(self.quic) {
            Ok(found) => found,
            Err(Http3Error::Done) => return None,
            Err(error) => {
                eprintln!("HTTP/3: {error}");
                return None;
            }
        };
        let event = match event {
            Http3Event::Headers { headers, .. } => {
                Event::Head(head::status(headers.iter().map(|field| (field.name(), field.value()))))
            }
            Http3Event::Data => Event::Data,
            Http3Event::Finished => Event::Finished,
            Http3Event::Reset(code) => Event::Reset(code),
            _ => Event::Other,
        };
        self.ended += usize::from(matches!(event, Event::Finished | Event::Reset(_)));
        Some((stream, event))
    }

    fn read(&mut self, stream: u64, buffer: &mut [u8]) -> Option<usize> {
        self.http.recv_body(self.quic, stream, buffer).ok()
    }
}

impl TransportHandler for Handler {
    fn on_conn_created(&mut self, quic: &mut Connection) {
        socket::log(quic, self.0.borrow().local, "client");
    }

    fn on_conn_established(&mut self, quic: &mut Connection) {
        let (resumed, used_0rtt) = (quic.is_resumed(), socket::used_early_data(quic));
        let mut fetching = self.0.borrow_mut();
        fetching.established = Some(Established { resumed, used_0rtt, t_handshake_ns: now_ns() });
        fetching.open_path(quic);
    }

    fn on_conn_closed(&mut self, quic: &mut Connection) {
        let mut fetching = self.0.borrow_mut();
        fetching.ended = Some(why_closed(quic, fetching.tls_failure.as_deref()));
    }

    fn on_stream_created(&mut self, _: &mut Connection, _: u64) {}

    fn on_stream_readable(&mut self, quic: &mut Connection, _: u64) {
        self.0.borrow_mut().readable(quic);
    }

    fn on_stream_writable(&mut self, quic: &mut Connection, stream: u64) {
        self.0.borrow_mut().writable(quic, stream);
    }

    fn on_stream_closed(&mut self, _: &mut Connection, stream: u64) {
        if let Some(http) = &mut self.0.borrow_mut().http {
            http.stream_destroy(stream);
        }
    }

    fn on_new_token(&mut self, _: &mut Connection, _: Vec<u8>) {}
}

/// Return why a connection is over; `tls_failure` is what went wrong in TLS, if anything did.
pub fn why_closed(quic: &Connection, tls_failure: Option<&str>) -> String {
    if let Some(reason) = tls_failure {
        let refused = reason.contains("CERTIFICATE_VERIFY_FAILED");
        return format!("TLS: {}{reason}", if refused { "the certificate is not accepted: " } else { "" });
    }
    Ending {
        local: quic.local_error().map(described),
        peer: quic.peer_error().map(described),
        timed_out: quic.is_idle_timeout() || quic.is_handshake_timeout(),
        was_reset: quic.is_reset(),
    }
    .to_string()
}

fn described(error: &tquic::error::ConnectionError) -> ConnectionError<'_> {
    ConnectionError { is_app: error.is_app, code: error.error_code, reason: &error.reason }
}
