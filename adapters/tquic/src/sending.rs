//! Datagrams in and out of a UDP socket, and the logs of a connection.

use std::cell::Cell;
use std::io::{ErrorKind, Result};
use std::net::{SocketAddr, UdpSocket};
use std::os::fd::AsRawFd;
use std::rc::Rc;
use std::time::{Duration, Instant};

use longlook_adapter::qlog;
use tquic::{Connection, Endpoint, PacketInfo, PacketSendHandler};

/// Larger than any packet that is received.
pub const LARGEST_DATAGRAM: usize = 65_536;

/// What came of one look at a socket.
#[derive(Default)]
pub struct Received {
    /// There was a datagram.
    pub any: bool,
    /// The last one that tquic did not like.
    pub error: Option<tquic::Error>,
}

/// A socket, as tquic sends over it.
pub struct Socket {
    udp: UdpSocket,
    /// Our end.
    pub local: SocketAddr,
    blocked: Cell<bool>,
}

impl Socket {
    /// `udp` as it is bound.
    pub fn new(udp: UdpSocket) -> Result<Rc<Self>> {
        udp.set_nonblocking(true)?;
        let local = udp.local_addr()?;
        Ok(Rc::new(Self { udp, local, blocked: Cell::new(false) }))
    }

    /// Whether it would not take more.
    pub fn is_blocked(&self) -> bool {
        self.blocked.get()
    }

    /// Give up to `most` datagrams to the endpoint.
    pub fn receive(&self, endpoint: &mut Endpoint, buffer: &mut [u8], most: usize) -> Result<Received> {
        let mut received = Received::default();
        for _ in 0..most {
            match self.udp.recv_from(buffer) {
                Ok((length, src)) => {
                    let info = PacketInfo { src, dst: self.local, time: Instant::now() };
                    received.any = true;
                    if let Err(error) = endpoint.recv(&mut buffer[..length], &info) {
                        eprintln!("packet from {src}: {error}"); // the connection decides itself whether that ends it
                        received.error = Some(error);
                    }
                }
                Err(error) if error.kind() == ErrorKind::WouldBlock => break,
                Err(error) if error.kind() == ErrorKind::ConnectionRefused => {} // the other end is gone, or yet to come
                Err(error) => return Err(error),
            }
        }
        Ok(received)
    }
}

impl PacketSendHandler for Socket {
    fn on_packets_send(&self, packets: &[(Vec<u8>, PacketInfo)]) -> tquic::Result<usize> {
        self.blocked.set(false);
        for (sent, (packet, info)) in packets.iter().enumerate() {
            match self.udp.send_to(packet, info.dst) {
                Ok(_) => {}
                Err(error) if error.kind() == ErrorKind::WouldBlock => {
                    self.blocked.set(true);
                    return Ok(sent);
                }
                Err(error) if error.kind() == ErrorKind::ConnectionRefused => {} // as if it were lost
                Err(error) => return Err(tquic::Error::IoError(error.to_string())),
            }
        }
        Ok(packets.len())
    }
}

impl AsRawFd for Socket {
    fn as_raw_fd(&self) -> i32 {
        self.udp.as_raw_fd()
    }
}

/// When the endpoint has something to do, if nothing comes.
pub fn next_time(endpoint: &Endpoint) -> Option<Instant> {
    endpoint.timeout().map(|wait| Instant::now() + wait.min(Duration::from_secs(3600)))
}

/// Write the traces where QLOGDIR asks for them, and the keys where SSLKEYLOGFILE says; `client` is its end.
pub fn log(connection: &mut Connection, client: SocketAddr, role: &str) {
    let name = format!("{}-{}", client.ip(), client.port());
    if let Some(file) = qlog::create(&name, role) {
        let id = format!("id={}", connection.trace_id()); // as tquic's own programs do, which readers know it by
        connection.set_qlog(Box::new(file), format!("tquic {role}"), id);
    }
    if let Some(path) = std::env::var_os("SSLKEYLOGFILE").filter(|path| !path.is_empty()) {
        match std::fs::OpenOptions::new().create(true).append(true).open(path) {
            Ok(file) => connection.set_keylog(Box::new(file)),
            Err(error) => eprintln!("SSLKEYLOGFILE: {error}"),
        }
    }
}

/// Early data was sent and taken, as BoringSSL says.
pub fn used_early_data(connection: &Connection) -> bool {
    connection.early_data_reason().is_ok_and(|reason| reason == Some("accepted"))
}
