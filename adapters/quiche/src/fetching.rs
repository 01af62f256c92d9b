//! One connection of a client and the objects that it fetches.

use std::net::{SocketAddr, UdpSocket};

use longlook_adapter::clock::now_ns;
use longlook_adapter::job::Job;
use longlook_adapter::lines::{ConnectionLine, emit};
use longlook_adapter::load::{self, Load};
use longlook_adapter::socket;
use quiche::h3::{Error, Event, Header, NameValue};

use crate::link::{Link, new_id};

/// What is asked of one connection.
pub struct Opening<'a> {
    /// It only earns a ticket.
    pub primes: bool,
    /// To resume from.
    pub ticket: Option<&'a [u8]>,
    /// When it was asked for, nanoseconds since 1970.
    pub t_start_ns: u64,
}

/// A connection at work.
pub struct Fetching {
    /// The connection.
    pub link: Link,
    /// Its own.
    pub socket: UdpSocket,
    /// Our end.
    pub local: SocketAddr,
    remote: SocketAddr,
    load: Load,
    primes: bool,
    t_start_ns: u64,
    done: bool,
}

impl Fetching {
    /// Begins with the first phase; nothing is sent yet.
    pub fn open(
        job: &Job,
        phases: Vec<Vec<String>>,
        opening: Opening<'_>,
        config: &mut quiche::Config,
    ) -> Result<Self, String> {
        let socket = socket::towards(job.remote).map_err(|error| error.to_string())?;
        socket.set_nonblocking(true).map_err(|error| error.to_string())?;
        let local = socket.local_addr().map_err(|error| error.to_string())?;
        let id = new_id().map_err(|error| error.to_string())?;
        let own = quiche::ConnectionId::from_ref(&id);
        let quic = quiche::connect(Some(&job.host), &own, local, job.remote, config);
        let name = format!("{}-{}", local.ip(), local.port());
        let mut link = Link::new(quic.map_err(|error| error.to_string())?, &name, "client");
        if let Some(ticket) = opening.ticket {
            link.quic.set_session(ticket).map_err(|error| format!("session ticket: {error}"))?;
        }
        let Opening { primes, t_start_ns, .. } = opening;
        let load = Load::new(job, phases, local, primes, t_start_ns);
        Ok(Self { link, socket, local, remote: job.remote, load, primes, t_start_ns, done: false })
    }

    /// Nothing is to be done any more; the connection is closed.
    pub fn is_done(&self) -> bool {
        self.done
    }

    /// All objects have arrived.
    pub fn is_complete(&self) -> bool {
        self.done && self.load.failure().is_none()
    }

    /// What a priming connection has earned.
    pub fn ticket(&self) -> Result<Vec<u8>, String> {
        match (self.load.failure(), self.link.quic.session()) {
            (Some(reason), _) => Err(reason.into()),
            (None, Some(ticket)) => Ok(ticket.to_vec()),
            (None, None) => Err("no session ticket".into()),
        }
    }

    /// Do what can be done since packets came or time passed.
    pub fn progress(&mut self, config: &quiche::h3::Config) {
        if self.link.just_established() {
            self.report();
        }
        self.link.begin_http(config);
        self.send_requests();
        self.take_answers();
        while self.load.is_idle() && self.load.begin_phase(now_ns()) {
            self.send_requests();
        }
        if self.load.is_idle() && (!self.primes || self.load.failure().is_some() || self.link.quic.session().is_some())
        {
            self.finish();
        } else if self.link.quic.is_closed() || self.link.quic.is_draining() || self.link.quic.local_error().is_some() {
            let reason = self.why_closed();
            self.give_up(&reason);
        }
    }

    /// What has not arrived never will.
    pub fn give_up(&mut self, reason: &str) {
        if !self.done {
            self.load.give_up(reason);
            self.finish();
        }
    }

    fn finish(&mut self) {
        self.link.close(&self.socket);
        self.done = true;
    }

    fn report(&self) {
        let mut line = ConnectionLine::now("h3", self.local, self.remote);
        line.primes = Some(self.primes);
        line.t_start_ns = Some(self.t_start_ns);
        line.resumed = self.link.quic.is_resumed();
        line.used_0rtt = self.link.used_early_data();
        line.gso = Some(false);
        emit(&line);
    }

    fn send_requests(&mut self) {
        let Some(http) = &mut self.link.http else { return };
        while let Some(path) = self.load.next_path() {
            if self.link.quic.peer_streams_left_bidi() == 0 {
                return;
            }
            let headers = [
                Header::new(b":method", b"GET"),
                Header::new(b":scheme", b"https"),
                Header::new(b":authority", self.load.authority().as_bytes()),
                Header::new(b":path", path.as_bytes()),
            ];
            match http.send_request(&mut self.link.quic, &headers, true) {
                Ok(stream) => self.load.asked(stream),
                Err(Error::StreamBlocked | Error::Done) => return,
                Err(error) => return eprintln!("request: {error}"), // the connection is about to tell why
            }
        }
    }

    fn take_answers(&mut self) {
        let Some(http) = &mut self.link.http else { return };
        let mut part = [0; 16 << 10];
        loop {
            let (stream, event) = match http.poll(&mut self.link.quic) {
                Ok(found) => found,
                Err(Error::Done) => return,
                Err(error) => return eprintln!("HTTP/3: {error}"),
            };
            let Some(object) = self.load.on(stream) else { continue };
            match event {
                Event::Headers { list, .. } => object.headers("h3", status(&list)),
                Event::Data => {
                    while let Ok(length) = http.recv_body(&mut self.link.quic, stream, &mut part) {
                        object.body(&part[..length]);
                    }
                }
                Event::Finished => self.load.finished(stream),
                Event::Reset(code) => self.load.reset(stream, code),
                _ => {}
            }
        }
    }

    fn why_closed(&self) -> String {
        let quic = &self.link.quic;
        if let Some(error) = quic.local_error() {
            return format!("closed: {}", told(error));
        }
        if let Some(error) = quic.peer_error() {
            return format!("closed by the server: {}", told(error));
        }
        if quic.is_timed_out() { "the server fell silent".into() } else { "the connection ended".into() }
    }
}

fn status(headers: &[Header]) -> u16 {
    let found = headers.iter().find(|header| header.name() == b":status");
    found.and_then(|header| std::str::from_utf8(header.value()).ok()?.parse().ok()).unwrap_or(0)
}

fn told(error: &quiche::ConnectionError) -> String {
    load::told(error.is_app, error.error_code, &error.reason)
}
