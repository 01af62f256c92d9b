//! quiche as the client loop of all adapters drives it.

use std::io::ErrorKind;
use std::os::fd::{AsRawFd, RawFd};
use std::time::Instant;

use longlook_adapter::clock::now_ns;
use longlook_adapter::ending::{ConnectionError, Ending};
use longlook_adapter::failure::Failure;
use longlook_adapter::job::Job;
use longlook_adapter::transport::{self, Answers, Connector, Established, Event, SharedLoad, Socket, Transport};
use longlook_adapter::{client, head};
use quiche::h3::{self, Error, Header, NameValue};

use crate::connection::{Connection, new_id};
use crate::settings;

/// Do a job.
pub fn run(mut job: Job) -> Result<(), Failure> {
    let mut quic = settings::config(&job.protocol, false, std::mem::take(&mut job.knobs))?;
    quic.verify_peer(true);
    quic.load_verify_locations_from_file(&job.ca).map_err(|error| Failure::of(&job.ca, error))?;
    client::run(&job, &mut Configuration { quic })
}

struct Configuration {
    quic: quiche::Config,
}

struct Fetcher {
    connection: Connection,
    socket: Socket,
    load: SharedLoad,
    http: h3::Config,
}

struct Http<'a> {
    http: &'a mut h3::Connection,
    quic: &'a mut quiche::Connection,
}

impl Connector for Configuration {
    type Transport = Fetcher;

    fn enable_early_data(&mut self) -> Result<(), Failure> {
        self.quic.enable_early_data();
        Ok(())
    }

    fn open(
        &mut self,
        job: &Job,
        socket: Socket,
        ticket: Option<&[u8]>,
        load: SharedLoad,
    ) -> Result<Self::Transport, String> {
        let id = new_id().map_err(|error| error.to_string())?;
        let own = quiche::ConnectionId::from_ref(&id);
        let quic = quiche::connect(Some(&job.host), &own, socket.local, job.remote, &mut self.quic);
        let quic = quic.map_err(|error| error.to_string())?;
        let mut connection = Connection::new(quic, socket.local, "client");
        if let Some(ticket) = ticket {
            connection.quic.set_session(ticket).map_err(|error| format!("session ticket: {error}"))?;
        }
        let http = settings::http().map_err(|failure| failure.to_string())?;
        Ok(Fetcher { connection, socket, load, http })
    }
}

impl Transport for Fetcher {
    const CALLS_BACK: bool = false;

    /// Also answers at once: the first packet of all makes early data possible.
    fn receive(&mut self, buffer: &mut [u8]) -> Result<(), Failure> {
        loop {
            match self.socket.udp.recv_from(buffer) {
                Ok((length, from)) => self.connection.receive(&mut buffer[..length], from, self.socket.local),
                Err(error) if error.kind() == ErrorKind::WouldBlock => break,
                Err(error) if error.kind() == ErrorKind::ConnectionRefused => {} // the server may yet come
                Err(error) => return Err(Failure::of("UDP socket", error)),
            }
        }
        self.connection.tick();
        self.send()
    }

    fn send(&mut self) -> Result<(), Failure> {
        self.connection.flush(&self.socket.udp).map_err(|error| Failure::of("UDP socket", error))
    }

    fn established(&mut self) -> Option<Established> {
        let resumed = self.connection.quic.is_resumed();
        let used_0rtt = self.connection.used_early_data();
        let established = self.connection.just_established();
        established.then(|| Established { resumed, used_0rtt, t_handshake_ns: now_ns() })
    }

    fn open_request(&mut self, authority: &str, path: &str) -> Option<u64> {
        self.connection.begin_http(&self.http);
        let http = self.connection.http.as_mut()?;
        if self.connection.quic.peer_streams_left_bidi() == 0 {
            return None;
        }
        let fields = head::request(authority, path);
        let fields = fields.map(|(name, value)| Header::new(name.as_bytes(), value.as_bytes()));
        match http.send_request(&mut self.connection.quic, &fields, true) {
            Ok(stream) => Some(stream),
            Err(Error::StreamBlocked | Error::Done) => None,
            Err(error) => {
                eprintln!("request: {error}"); // the connection is about to report why
                None
            }
        }
    }

    fn take_answers(&mut self) {
        if let Some(http) = &mut self.connection.http {
            let mut answers = Http { http, quic: &mut self.connection.quic };
            transport::take_answers(&mut answers, &mut self.load.borrow_mut());
        }
    }

    fn ticket(&mut self) -> Option<Vec<u8>> {
        self.connection.quic.session().map(<[u8]>::to_vec)
    }

    fn close_reason(&mut self) -> Option<String> {
        let quic = &self.connection.quic;
        if !quic.is_closed() && !quic.is_draining() && quic.local_error().is_none() {
            return None;
        }
        let (local, peer) = (quic.local_error().map(described), quic.peer_error().map(described));
        Some(Ending { local, peer, timed_out: quic.is_timed_out(), was_reset: false }.to_string())
    }

    fn close(&mut self) {
        self.connection.close(&self.socket.udp);
    }

    fn next_time(&self) -> Option<Instant> {
        self.connection.next_time()
    }

    fn is_blocked(&self) -> bool {
        self.connection.is_blocked()
    }
}

impl AsRawFd for Fetcher {
    fn as_raw_fd(&self) -> RawFd {
        self.socket.udp.as_raw_fd()
    }
}

impl Answers for Http<'_> {
    fn poll(&mut self) -> Option<(u64, Event)> {
        let (stream, event) = match self.http.poll(self.quic) {
            Ok(found) => found,
            Err(Error::Done) => return None,
            Err(error) => {
                eprintln!("HTTP/3: {error}");
                return None;
            }
        };
        let event = match event {
            h3::Event::Headers { list, .. } => {
                Event::Head(head::status(list.iter().map(|field| (field.name(), field.value()))))
            }
            h3::Event::Data => Event::Data,
            h3::Event::Finished => Event::Finished,
            h3::Event::Reset(code) => Event::Reset(code),
            _ => Event::Other,
        };
        Some((stream, event))
    }

    fn read(&mut self, stream: u64, buffer: &mut [u8]) -> Option<usize> {
        self.http.recv_body(self.quic, stream, buffer).ok()
    }
}

fn described(error: &quiche::ConnectionError) -> ConnectionError<'_> {
    ConnectionError { is_app: error.is_app, code: error.error_code, reason: &error.reason }
}
