//! One connection of a client and the objects that it fetches.

use std::cell::RefCell;
use std::net::SocketAddr;
use std::rc::Rc;

use longlook_adapter::clock::now_ns;
use longlook_adapter::lines::{ConnectionLine, emit};
use longlook_adapter::load::{Load, told};
use tquic::h3::connection::Http3Connection;
use tquic::h3::{Header, Http3Config, Http3Error, Http3Event, NameValue};
use tquic::{Connection, TransportHandler};

use crate::{NO_ERROR, sending};

/// What one connection does, between tquic's calls and the client's loop.
pub struct Fetching {
    /// What it is to fetch.
    pub load: Load,
    local: SocketAddr,
    remote: SocketAddr,
    primes: bool,
    t_start_ns: u64,
    http: Option<Http3Connection>,
    /// The server allows no more requests. tquic tells nobody when it does again, and each attempt sends a STREAMS_BLOCKED:
    /// they are left until an answer is complete, and then made with what the server sends.
    limited: bool,
    /// Answers that no new request has followed.
    freed: usize,
    /// Asked for after the handshake, which may come before the ticket does.
    ticket: Option<Vec<u8>>,
    /// tquic closes without a code where TLS fails; the reason is known when it happens, and never again.
    tls_failure: Option<String>,
    ended: Option<String>,
    done: bool,
}

/// What tquic calls.
pub struct Handler(pub Rc<RefCell<Fetching>>);

impl Fetching {
    /// Nothing is connected yet. `t_start_ns`: when the connection was asked for.
    pub fn new(load: Load, (local, remote): (SocketAddr, SocketAddr), primes: bool, t_start_ns: u64) -> Self {
        let (http, limited, freed, ticket, tls_failure, ended, done) = Default::default();
        Self { load, local, remote, primes, t_start_ns, http, limited, freed, ticket, tls_failure, ended, done }
    }

    /// Nothing is to be done any more; the connection is closed.
    pub fn is_done(&self) -> bool {
        self.done
    }

    /// What a priming connection has earned.
    pub fn ticket(&mut self) -> Result<Vec<u8>, String> {
        match self.load.failure() {
            Some(reason) => Err(reason.into()),
            None => self.ticket.take().ok_or_else(|| "no session ticket".into()),
        }
    }

    /// Something has come from the server, which tquic may not have liked.
    pub fn heard(&mut self, error: Option<tquic::Error>) {
        self.limited &= self.freed == 0;
        if let Some(tquic::Error::TlsFail(reason)) = error {
            self.tls_failure.get_or_insert(reason);
        }
    }

    /// Do what can be done since packets came or time passed. None: tquic has forgotten the connection.
    pub fn progress(&mut self, quic: Option<&mut Connection>) {
        let Some(quic) = quic else {
            let reason = self.ended.take();
            return self.give_up(None, &reason.unwrap_or_else(|| "the connection ended".into()));
        };
        self.begin_http(quic);
        self.send_requests(quic);
        while self.load.is_idle() && self.load.begin_phase(now_ns()) {
            self.send_requests(quic);
        }
        if self.primes && self.ticket.is_none() {
            self.ticket = quic.session().map(<[u8]>::to_vec);
        }
        if self.load.is_idle() && (!self.primes || self.load.failure().is_some() || self.ticket.is_some()) {
            self.finish(quic);
        } else if quic.is_closed() || quic.is_draining() || quic.local_error().is_some() {
            let reason = self.why_closed(quic);
            self.give_up(Some(quic), &reason);
        }
    }

    /// What has not arrived never will.
    pub fn give_up(&mut self, quic: Option<&mut Connection>, reason: &str) {
        if !self.done {
            self.load.give_up(reason);
            self.done = true;
            if let Some(quic) = quic {
                self.finish(quic);
            }
        }
    }

    fn finish(&mut self, quic: &mut Connection) {
        let _ = quic.close(true, NO_ERROR, b""); // an error: closed already
        self.done = true;
    }

    fn why_closed(&self, quic: &Connection) -> String {
        if let Some(reason) = &self.tls_failure {
            let certificate =
                if reason.contains("CERTIFICATE_VERIFY_FAILED") { "the certificate is not accepted: " } else { "" };
            return format!("TLS: {certificate}{reason}");
        }
        if let Some(error) = quic.local_error() {
            return format!("closed: {}", told(error.is_app, error.error_code, &error.reason));
        }
        if let Some(error) = quic.peer_error() {
            return format!("closed by the server: {}", told(error.is_app, error.error_code, &error.reason));
        }
        if quic.is_idle_timeout() || quic.is_handshake_timeout() {
            return "the server fell silent".into();
        }
        if quic.is_reset() { "the server has forgotten the connection".into() } else { "the connection ended".into() }
    }

    fn report(&self, quic: &Connection) {
        let mut line = ConnectionLine::now("h3", self.local, self.remote);
        line.primes = Some(self.primes);
        line.t_start_ns = Some(self.t_start_ns);
        line.resumed = quic.is_resumed();
        line.used_0rtt = sending::used_early_data(quic);
        line.gso = Some(false);
        emit(&line);
    }

    /// HTTP/3 can begin: the handshake is complete, or early data is possible.
    fn begin_http(&mut self, quic: &mut Connection) {
        if self.http.is_none() && (quic.is_established() || quic.is_in_early_data()) {
            match Http3Config::new().and_then(|config| Http3Connection::new_with_quic_conn(quic, &config)) {
                Ok(http) => self.http = Some(http),
                Err(error) => eprintln!("HTTP/3: {error}"),
            }
        }
    }

    fn send_requests(&mut self, quic: &mut Connection) {
        let Some(http) = &mut self.http else { return };
        while let Some(path) = self.load.next_path().filter(|_| !self.limited) {
            let headers = [
                Header::new(b":method", b"GET"),
                Header::new(b":scheme", b"https"),
                Header::new(b":authority", self.load.authority().as_bytes()),
                Header::new(b":path", path.as_bytes()),
            ];
            let stream = match http.stream_new(quic) {
                Ok(stream) => stream,
                Err(Http3Error::TransportError(tquic::Error::StreamLimitError)) => {
                    self.limited = true;
                    return;
                }
                Err(error) => return eprintln!("request: {error}"), // the connection is about to tell why
            };
            self.load.asked(stream);
            self.freed = self.freed.saturating_sub(1);
            match http.send_headers(quic, stream, &headers, true) {
                Ok(()) => drop(quic.stream_want_write(stream, false)),
                Err(Http3Error::StreamBlocked) => {} // kept by HTTP/3 until the stream takes them
                Err(error) => eprintln!("request: {error}"),
            }
        }
    }

    /// The stream takes more: headers that HTTP/3 has kept, or nothing.
    fn writable(&mut self, quic: &mut Connection, stream: u64) {
        if let Some(http) = &mut self.http {
            let _ = http.send_body(quic, stream, bytes::Bytes::new(), false); // its errors say that nothing was kept
        }
        let _ = quic.stream_want_write(stream, false); // an error: the stream is gone
    }

    fn take_answers(&mut self, quic: &mut Connection) {
        let Some(http) = &mut self.http else { return };
        let mut part = [0; 16 << 10];
        loop {
            let (stream, event) = match http.poll(quic) {
                Ok(found) => found,
                Err(Http3Error::Done) => return,
                Err(error) => return eprintln!("HTTP/3: {error}"),
            };
            match event {
                Http3Event::Headers { headers, .. } => {
                    if let Some(object) = self.load.on(stream) {
                        object.headers("h3", status(&headers));
                    }
                }
                Http3Event::Data => {
                    let Some(object) = self.load.on(stream) else { continue };
                    while let Ok(length) = http.recv_body(quic, stream, &mut part) {
                        object.body(&part[..length]);
                    }
                }
                Http3Event::Finished => {
                    self.load.finished(stream);
                    (self.freed, self.limited) = (self.freed + 1, false);
                }
                Http3Event::Reset(code) => {
                    self.load.reset(stream, code);
                    (self.freed, self.limited) = (self.freed + 1, false);
                }
                _ => {}
            }
        }
    }
}

impl TransportHandler for Handler {
    fn on_conn_created(&mut self, quic: &mut Connection) {
        sending::log(quic, self.0.borrow().local, "client");
    }

    fn on_conn_established(&mut self, quic: &mut Connection) {
        self.0.borrow().report(quic);
    }

    fn on_conn_closed(&mut self, quic: &mut Connection) {
        let mut fetching = self.0.borrow_mut();
        fetching.ended = Some(fetching.why_closed(quic));
    }

    fn on_stream_created(&mut self, _: &mut Connection, _: u64) {}

    fn on_stream_readable(&mut self, quic: &mut Connection, _: u64) {
        self.0.borrow_mut().take_answers(quic);
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

fn status(headers: &[Header]) -> u16 {
    let found = headers.iter().find(|header| header.name() == b":status");
    found.and_then(|header| std::str::from_utf8(header.value()).ok()?.parse().ok()).unwrap_or(0)
}
