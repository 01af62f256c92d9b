//! The sockets of a client's connection, one for each of its addresses, and the line that says what each path carried.

use std::cell::Cell;
use std::io::{Error, Result};
use std::net::{IpAddr, SocketAddr, UdpSocket};
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};
use std::rc::Rc;

use serde::Serialize;
use tquic::{Connection, Endpoint, PacketInfo, PacketSendHandler};

use crate::socket::{Received, Socket};

/// The sockets of one connection.
pub struct Sockets {
    /// The one that the connection begins on.
    pub first: Rc<Socket>,
    second: Option<Second>,
}

struct Second {
    socket: Rc<Socket>,
    /// Ready to read when either socket is, or takes datagrams again.
    either: OwnedFd,
    waits: Cell<bool>,
}

/// One path of a connection over several.
#[derive(Serialize)]
struct PathLine {
    event: &'static str,
    connection: SocketAddr,
    local: SocketAddr,
    remote: SocketAddr,
    t_start_ns: u64,
    received_bytes: u64,
    sent_bytes: u64,
}

impl Sockets {
    /// Take the first socket, and open another on the address `second` where there is one.
    pub fn new(first: UdpSocket, second: Option<IpAddr>) -> Result<Rc<Self>> {
        let first = Socket::new(first)?;
        let second = match second {
            Some(address) => {
                let socket = UdpSocket::bind((address, 0)).and_then(Socket::new)?;
                let either = watched(&[&*first, &*socket])?;
                Some(Second { socket, either, waits: Cell::new(false) })
            }
            None => None,
        };
        Ok(Rc::new(Self { first, second }))
    }

    /// Our end of the second path; None where there is one only.
    pub fn second_local(&self) -> Option<SocketAddr> {
        self.second.as_ref().map(|second| second.socket.local)
    }

    /// Return whether the first socket took no more datagrams; the second one's readiness is part of reading.
    pub fn is_blocked(&self) -> bool {
        self.second.is_none() && self.first.is_blocked()
    }

    /// Pass all datagrams that have come to the endpoint.
    pub fn receive(&self, endpoint: &mut Endpoint, buffer: &mut [u8]) -> Result<Received> {
        let mut received = self.first.receive(endpoint, buffer, usize::MAX)?;
        if let Some(second) = &self.second {
            let others = second.socket.receive(endpoint, buffer, usize::MAX)?;
            received.any |= others.any;
            received.error = others.error.or(received.error);
        }
        Ok(received)
    }

    /// Wait for writing, too, where a socket took no more datagrams, and no longer than that.
    pub fn watch(&self) -> Result<()> {
        let Some(second) = &self.second else { return Ok(()) };
        let waits = self.first.is_blocked() || second.socket.is_blocked();
        if second.waits.replace(waits) != waits {
            for socket in [&self.first, &second.socket] {
                control(&second.either, libc::EPOLL_CTL_MOD, socket.as_raw_fd(), socket.is_blocked())?;
            }
        }
        Ok(())
    }
}

impl PacketSendHandler for Sockets {
    fn on_packets_send(&self, packets: &[(Vec<u8>, PacketInfo)]) -> tquic::Result<usize> {
        let Some(second) = &self.second else { return self.first.on_packets_send(packets) };
        let mut sent = 0;
        for of_path in packets.chunk_by(|(_, one), (_, next)| one.src == next.src) {
            let over_second = of_path[0].1.src == second.socket.local;
            let socket = if over_second { &second.socket } else { &self.first };
            let taken = socket.on_packets_send(of_path)?;
            sent += taken;
            if taken < of_path.len() {
                break;
            }
        }
        Ok(sent)
    }
}

impl AsRawFd for Sockets {
    fn as_raw_fd(&self) -> RawFd {
        self.second.as_ref().map_or_else(|| self.first.as_raw_fd(), |second| second.either.as_raw_fd())
    }
}

/// Print a line for each path of a connection over several, with what it has carried; nothing where there is one.
/// `began_ns` has when each path was begun, by our end of it.
pub fn report(quic: &mut Connection, began_ns: &[(SocketAddr, u64)]) {
    if !quic.is_multipath() {
        return;
    }
    let Some((connection, _)) = began_ns.first().copied() else { return };
    let paths: Vec<_> = quic.paths_iter().collect();
    for path in paths {
        let Some((_, t_start_ns)) = began_ns.iter().find(|(local, _)| *local == path.local) else { continue };
        let Ok(stats) = quic.get_path_stats(path.local, path.remote) else { continue };
        longlook_adapter::lines::emit(&PathLine {
            event: "path",
            connection,
            local: path.local,
            remote: path.remote,
            t_start_ns: *t_start_ns,
            received_bytes: stats.recv_bytes,
            sent_bytes: stats.sent_bytes,
        });
    }
}

/// Make a descriptor that is ready to read when one of `sockets` is.
fn watched(sockets: &[&Socket]) -> Result<OwnedFd> {
    // SAFETY: the descriptor is new, and ours alone.
    let made = unsafe {
        let made = libc::epoll_create1(libc::EPOLL_CLOEXEC);
        if made < 0 {
            return Err(Error::last_os_error());
        }
        OwnedFd::from_raw_fd(made)
    };
    for socket in sockets {
        control(&made, libc::EPOLL_CTL_ADD, socket.as_raw_fd(), false)?;
    }
    Ok(made)
}

fn control(of: &OwnedFd, operation: libc::c_int, socket: RawFd, writing: bool) -> Result<()> {
    let events = libc::EPOLLIN | if writing { libc::EPOLLOUT } else { 0 };
    let mut event = libc::epoll_event { events: events as u32, u64: 0 };
    // SAFETY: both descriptors are open, and the event lives through the call.
    match unsafe { libc::epoll_ctl(of.as_raw_fd(), operation, socket, &raw mut event) } {
        0 => Ok(()),
        _ => Err(Error::last_os_error()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::{Duration, Instant};

    fn local() -> UdpSocket {
        UdpSocket::bind("127.0.0.1:0").unwrap()
    }

    #[test]
    fn either_socket_wakes() {
        let sockets = Sockets::new(local(), Some("127.0.0.1".parse().unwrap())).unwrap();
        let second = sockets.second_local().unwrap();
        let began = Instant::now();
        let limit = Duration::from_millis(50);
        longlook_adapter::wait::ready(&[(&*sockets, false)], Some(began + limit)).unwrap();
        assert!(began.elapsed() >= limit, "nothing has come yet");
        local().send_to(b"hello", second).unwrap();
        longlook_adapter::wait::ready(&[(&*sockets, false)], Some(Instant::now() + Duration::from_secs(5))).unwrap();
        assert!(began.elapsed() < Duration::from_secs(2), "the second socket has something");
    }

    #[test]
    fn packets_leave_from_the_address_of_their_path() {
        let sockets = Sockets::new(local(), Some("127.0.0.1".parse().unwrap())).unwrap();
        let peer = local();
        let to = peer.local_addr().unwrap();
        let packet = |src| (b"x".to_vec(), PacketInfo { src, dst: to, time: Instant::now() });
        let (first, second) = (sockets.first.local, sockets.second_local().unwrap());
        let sent = sockets.on_packets_send(&[packet(first), packet(second), packet(second), packet(first)]).unwrap();
        assert_eq!(sent, 4);
        let from: Vec<_> = (0..4).map(|_| peer.recv_from(&mut [0; 8]).unwrap().1).collect();
        assert_eq!(from, [first, second, second, first]);
    }
}
