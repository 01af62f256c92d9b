//! Datagrams in and out of a UDP socket, and the logs of a connection.

use std::cell::Cell;
use std::io::{ErrorKind, Result};
use std::net::{SocketAddr, UdpSocket};
use std::os::fd::AsRawFd;
use std::rc::Rc;
use std::time::{Duration, Instant};

use longlook_adapter::logs;
use tquic::{Connection, Endpoint, PacketInfo, PacketSendHandler};

/// The result of reading a socket until it is empty.
#[derive(Default)]
pub struct Received {
    /// At least one datagram has come.
    pub any: bool,
    /// Why tquic refused the last datagram that it refused.
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
    /// Make `udp` a socket that never blocks.
    pub fn new(udp: UdpSocket) -> Result<Rc<Self>> {
        udp.set_nonblocking(true)?;
        let local = udp.local_addr()?;
        Ok(Rc::new(Self { udp, local, blocked: Cell::new(false) }))
    }

    /// Return whether it took no more datagrams.
    pub fn is_blocked(&self) -> bool {
        self.blocked.get()
    }

    /// Pass up to `most` datagrams to the endpoint.
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

/// tquic's own granularity of timers.
const PATIENCE: Duration = Duration::from_millis(1);

/// When an endpoint has something to do if nothing comes.
///
/// Where there are several paths, tquic may keep a timer that is due and that nobody stops: that of a path's challenge
/// that was sent when the path was validated already. A wait of nothing for it would be endless work, so a timer that
/// is still due after it was looked at is looked at once a millisecond.
pub struct Due {
    several_paths: bool,
    overdue: Cell<bool>,
}

impl Due {
    /// Nothing is due yet.
    pub fn new(several_paths: bool) -> Self {
        Self { several_paths, overdue: Cell::new(false) }
    }

    /// Return when there is something to do; None for never.
    pub fn next_time(&self, endpoint: &Endpoint) -> Option<Instant> {
        endpoint.timeout().map(|wait| Instant::now() + self.patient(wait).min(Duration::from_secs(3600)))
    }

    fn patient(&self, wait: Duration) -> Duration {
        let overdue = self.several_paths && wait.is_zero();
        if self.overdue.replace(overdue) && overdue { PATIENCE } else { wait }
    }
}

/// Log a connection where the environment asks for it; `client` is the client's end.
pub fn log(connection: &mut Connection, client: SocketAddr, role: &str) {
    if let Some(file) = logs::qlog(&logs::name_of(client), role) {
        let id = format!("id={}", connection.trace_id()); // as tquic's own programs do, which readers know it by
        connection.set_qlog(Box::new(file), format!("tquic {role}"), id);
    }
    if let Some(file) = logs::keys() {
        connection.set_keylog(Box::new(file));
    }
}

/// Return whether early data was sent and taken, by the reason that BoringSSL gives.
pub fn used_early_data(connection: &Connection) -> bool {
    connection.early_data_reason().is_ok_and(|reason| reason == Some("accepted"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_timer_that_stays_due_is_given_time() {
        let (several, one) = (Due::new(true), Due::new(false));
        let soon = Duration::from_micros(10);
        let waits = [soon, Duration::ZERO, Duration::ZERO, soon, Duration::ZERO];
        assert_eq!(waits.map(|wait| several.patient(wait)), [soon, Duration::ZERO, PATIENCE, soon, Duration::ZERO]);
        assert_eq!(waits.map(|wait| one.patient(wait)), waits);
    }
}
