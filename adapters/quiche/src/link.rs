//! One QUIC connection and its packets' way out.

use std::io::{ErrorKind, Read, Result};
use std::net::{SocketAddr, UdpSocket};
use std::time::Instant;

use longlook_adapter::qlog;

use crate::NO_ERROR;

/// Larger than any packet that is sent or received.
pub const LARGEST_DATAGRAM: usize = 65_536;
const ID_BYTES: usize = 16;

/// A new connection id, from the kernel's random numbers.
pub fn new_id() -> Result<Vec<u8>> {
    let mut id = vec![0; ID_BYTES];
    std::fs::File::open("/dev/urandom")?.read_exact(&mut id)?;
    Ok(id)
}

/// A connection with the one packet that waits for its time.
pub struct Link {
    /// The connection.
    pub quic: quiche::Connection,
    /// HTTP/3 on it, as soon as requests are possible.
    pub http: Option<quiche::h3::Connection>,
    waiting: Option<(Vec<u8>, quiche::SendInfo)>,
    blocked: bool,
    reported: bool,
    early: bool,
}

impl Link {
    /// `name` is the trace's, which is written where QLOGDIR asks for one; keys go where SSLKEYLOGFILE says.
    pub fn new(mut quic: quiche::Connection, name: &str, role: &str) -> Self {
        if let Some(file) = qlog::create(name, role) {
            quic.set_qlog(Box::new(file), format!("quiche {role}"), name.into());
        }
        if let Some(path) = std::env::var_os("SSLKEYLOGFILE").filter(|path| !path.is_empty()) {
            match std::fs::OpenOptions::new().create(true).append(true).open(path) {
                Ok(file) => quic.set_keylog(Box::new(file)),
                Err(error) => eprintln!("SSLKEYLOGFILE: {error}"),
            }
        }
        Self { quic, http: None, waiting: None, blocked: false, reported: false, early: false }
    }

    /// A packet has come.
    pub fn receive(&mut self, packet: &mut [u8], from: SocketAddr, to: SocketAddr) {
        match self.quic.recv(packet, quiche::RecvInfo { from, to }) {
            Ok(_) | Err(quiche::Error::Done) => {}
            Err(error) => eprintln!("packet from {from}: {error}"), // the connection decides itself whether that ends it
        }
        self.note_early_data();
    }

    /// Send what may be sent now; what quiche wants to be sent later waits here, and all after it.
    pub fn flush(&mut self, socket: &UdpSocket) -> Result<()> {
        self.blocked = false;
        loop {
            if self.waiting.is_none() {
                self.waiting = self.next_packet();
                self.note_early_data();
            }
            let Some((packet, info)) = &self.waiting else { return Ok(()) };
            if info.at > Instant::now() {
                return Ok(());
            }
            match socket.send_to(packet, info.to) {
                Ok(_) => self.waiting = None,
                Err(error) if error.kind() == ErrorKind::WouldBlock => {
                    self.blocked = true;
                    return Ok(());
                }
                Err(error) if error.kind() == ErrorKind::ConnectionRefused => self.waiting = None, // as if it were lost
                Err(error) => return Err(error),
            }
        }
    }

    fn next_packet(&mut self) -> Option<(Vec<u8>, quiche::SendInfo)> {
        let mut packet = vec![0; LARGEST_DATAGRAM];
        match self.quic.send(&mut packet) {
            Ok((length, info)) => {
                packet.truncate(length);
                Some((packet, info))
            }
            Err(quiche::Error::Done) => None,
            Err(error) => {
                eprintln!("sending: {error}"); // it closes the connection itself
                None
            }
        }
    }

    /// Whether the socket would not take more.
    pub fn is_blocked(&self) -> bool {
        self.blocked
    }

    /// When something has to be done here, if nothing comes.
    pub fn next_time(&self) -> Option<Instant> {
        let paced = self.waiting.as_ref().filter(|_| !self.blocked).map(|(_, info)| info.at);
        [self.quic.timeout_instant(), paced].into_iter().flatten().min()
    }

    /// Let the connection's timers run that are due.
    pub fn tick(&mut self) {
        if self.quic.timeout_instant().is_some_and(|due| due <= Instant::now()) {
            self.quic.on_timeout();
        }
    }

    /// HTTP/3 can begin: the handshake is complete, or early data is possible.
    pub fn begin_http(&mut self, config: &quiche::h3::Config) {
        if self.http.is_none() && (self.quic.is_established() || self.quic.is_in_early_data()) {
            match quiche::h3::Connection::with_transport(&mut self.quic, config) {
                Ok(http) => self.http = Some(http),
                Err(error) => eprintln!("HTTP/3: {error}"),
            }
        }
    }

    /// True once, when the handshake is complete.
    pub fn just_established(&mut self) -> bool {
        let now = self.quic.is_established() && !self.quic.is_in_early_data() && !self.reported;
        self.reported |= now;
        now
    }

    /// Whether early data went through: a server takes it or not, a client is told by an error that it was refused.
    pub fn used_early_data(&self) -> bool {
        self.early
    }

    fn note_early_data(&mut self) {
        self.early |= self.quic.is_in_early_data();
    }

    /// Tell the peer, at once.
    pub fn close(&mut self, socket: &UdpSocket) {
        self.waiting = None; // its time may be far
        let _ = self.quic.close(true, NO_ERROR, b""); // an error: closed already
        while let Some((packet, info)) = self.next_packet() {
            if socket.send_to(&packet, info.to).is_err() {
                return;
            }
        }
    }
}
