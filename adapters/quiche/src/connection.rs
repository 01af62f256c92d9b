//! One QUIC connection and its packets' way out.

use std::io::{ErrorKind, Read, Result};
use std::net::{SocketAddr, UdpSocket};
use std::time::Instant;

use longlook_adapter::logs;
use longlook_adapter::socket::LARGEST_DATAGRAM;

/// H3_NO_ERROR
const NO_ERROR: u64 = 0x100;
const ID_BYTES: usize = 16;

/// Make a new connection id, from the kernel's random numbers.
pub fn new_id() -> Result<Vec<u8>> {
    let mut id = vec![0; ID_BYTES];
    std::fs::File::open("/dev/urandom")?.read_exact(&mut id)?;
    Ok(id)
}

/// A connection with the one packet that waits for its time.
pub struct Connection {
    /// quiche's connection.
    pub quic: quiche::Connection,
    /// HTTP/3 on it, as soon as requests are possible.
    pub http: Option<quiche::h3::Connection>,
    waiting: Option<(Vec<u8>, quiche::SendInfo)>,
    blocked: bool,
    reported: bool,
    early: bool,
}

impl Connection {
    /// Log where the environment asks for it; `client` is the client's end.
    pub fn new(mut quic: quiche::Connection, client: SocketAddr, role: &str) -> Self {
        let name = logs::name_of(client);
        if let Some(file) = logs::qlog(&name, role) {
            quic.set_qlog(Box::new(file), format!("quiche {role}"), name);
        }
        if let Some(file) = logs::keys() {
            quic.set_keylog(Box::new(file));
        }
        Self { quic, http: None, waiting: None, blocked: false, reported: false, early: false }
    }

    /// Take in a packet that has come.
    pub fn receive(&mut self, packet: &mut [u8], from: SocketAddr, to: SocketAddr) {
        match self.quic.recv(packet, quiche::RecvInfo { from, to }) {
            Ok(_) | Err(quiche::Error::Done) => {}
            Err(error) => eprintln!("packet from {from}: {error}"), // the connection decides itself whether that ends it
        }
        self.note_early_data();
    }

    /// Send what may be sent now. A packet that quiche wants to be sent later waits here, and all after it.
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

    /// Return whether the socket took no more datagrams.
    pub fn is_blocked(&self) -> bool {
        self.blocked
    }

    /// Return when something has to be done here if nothing comes.
    pub fn next_time(&self) -> Option<Instant> {
        let paced = self.waiting.as_ref().filter(|_| !self.blocked).map(|(_, info)| info.at);
        [self.quic.timeout_instant(), paced].into_iter().flatten().min()
    }

    /// Run the connection's timers that are due.
    pub fn tick(&mut self) {
        if self.quic.timeout_instant().is_some_and(|due| due <= Instant::now()) {
            self.quic.on_timeout();
        }
    }

    /// Begin HTTP/3 if that is possible: the handshake is complete, or early data can be sent.
    pub fn begin_http(&mut self, config: &quiche::h3::Config) {
        if self.http.is_none() && (self.quic.is_established() || self.quic.is_in_early_data()) {
            match quiche::h3::Connection::with_transport(&mut self.quic, config) {
                Ok(http) => self.http = Some(http),
                Err(error) => eprintln!("HTTP/3: {error}"),
            }
        }
    }

    /// Return true once, when the handshake is complete.
    pub fn just_established(&mut self) -> bool {
        let now = self.quic.is_established() && !self.quic.is_in_early_data() && !self.reported;
        self.reported |= now;
        now
    }

    /// Return whether early data went through: a server takes it or not, a client learns of a refusal by an error.
    pub fn used_early_data(&self) -> bool {
        self.early
    }

    fn note_early_data(&mut self) {
        self.early |= self.quic.is_in_early_data();
    }

    /// Close the connection without an error, and send that at once.
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
