//! The kernel's state of its TCP sockets: `sock_diag(7)`, one exact question per socket.

use std::collections::BTreeMap;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};

use nix::errno::Errno;
use nix::sys::socket::{
    AddressFamily, MsgFlags, NetlinkAddr, SockFlag, SockProtocol, SockType, bind, recv, send, socket,
};

const BY_FAMILY: u16 = 20;
const REQUEST: u16 = 1;
const DUMP: u16 = 0x300;
const ERROR: u16 = 2;
const DONE: u16 = 3;
const HEADER_BYTES: usize = 16;
const REQUEST_BYTES: usize = HEADER_BYTES + 56;
const IDENTITY: std::ops::Range<usize> = 4..52; // in inet_diag_msg: ports, addresses, interface, cookie
const TCP: u8 = 6;
const EXTENSIONS: u8 = 1 << 1 | 1 << 2 | 1 << 3 | 1 << 6; // INFO, VEGASINFO (and so the like of others), CONG, SKMEMINFO
const SYN_SENT: u8 = 2;
const TIME_WAIT: u8 = 6;
/// Established, SYN-SENT and every stage of closing; neither listening nor in TIME-WAIT.
const STATES: u32 = 1 << 1 | 1 << SYN_SENT | 1 << 4 | 1 << 5 | 1 << 8 | 1 << 9 | 1 << 11;
const DESTROYED_GROUPS: u32 = 1 | 1 << 2; // of IPv4 and IPv6
const BUFFER_BYTES: usize = 1 << 16;

/// A socket as the kernel names it: ports, addresses, interface and cookie.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Identity {
    family: u8,
    bytes: [u8; 48],
}

impl Identity {
    fn of(message: &[u8]) -> Option<Self> {
        Some(Self { family: *message.first()?, bytes: message.get(IDENTITY)?.try_into().ok()? })
    }

    fn port(&self, at: usize) -> u16 {
        u16::from_be_bytes([self.bytes[at], self.bytes[at + 1]])
    }

    /// The socket's own port.
    pub fn local_port(&self) -> u16 {
        self.port(0)
    }

    /// The other end's.
    pub fn remote_port(&self) -> u16 {
        self.port(2)
    }

    /// The number that no other socket of this machine has had.
    pub fn cookie(&self) -> u64 {
        u64::from_ne_bytes(self.bytes[40..].try_into().expect("eight of 48 bytes"))
    }
}

/// Which connections: those with the server's port at this end, or at the other.
#[derive(Debug, Clone, Copy)]
pub struct Wanted {
    pub port: u16,
    pub at_server: bool,
}

impl Wanted {
    fn holds(self, identity: &Identity) -> bool {
        let port = if self.at_server { identity.local_port() } else { identity.remote_port() };
        port == self.port && (identity.remote_port() != 0)
    }
}

/// An open question to the kernel about the sockets of the network namespace in which it was opened.
pub struct SocketDiag {
    questions: OwnedFd,
    destroyed: OwnedFd,
    families: Vec<u8>,
    wanted: Wanted,
    buffer: Vec<u8>,
    /// The sockets that live.
    known: BTreeMap<u64, Identity>,
}

impl SocketDiag {
    pub fn open(wanted: Wanted) -> nix::Result<Self> {
        let open =
            || socket(AddressFamily::Netlink, SockType::Raw, SockFlag::SOCK_CLOEXEC, SockProtocol::NetlinkSockDiag);
        let (questions, destroyed) = (open()?, open()?);
        bind(destroyed.as_raw_fd(), &NetlinkAddr::new(0, DESTROYED_GROUPS))?;
        let families = vec![AddressFamily::Inet as u8, AddressFamily::Inet6 as u8];
        let buffer = vec![0; BUFFER_BYTES];
        let mut diag = Self { questions, destroyed, families, wanted, buffer, known: BTreeMap::new() };
        diag.look()?;
        Ok(diag)
    }

    /// Readable when a socket was destroyed.
    pub fn destroyed(&self) -> BorrowedFd<'_> {
        self.destroyed.as_fd()
    }

    /// Whether no socket is known to live.
    pub fn is_idle(&self) -> bool {
        self.known.is_empty()
    }

    /// Whether a socket is known to live.
    pub fn knows(&self, cookie: u64) -> bool {
        self.known.contains_key(&cookie)
    }

    /// Looks for sockets that are not known yet.
    pub fn look(&mut self) -> nix::Result<()> {
        let mut absent = None;
        for family in self.families.clone() {
            match self.dump(family) {
                Err(Errno::ENOENT) if family != AddressFamily::Inet as u8 => absent = Some(family),
                other => other?,
            }
        }
        self.families.retain(|family| Some(*family) != absent);
        Ok(())
    }

    fn dump(&mut self, family: u8) -> nix::Result<()> {
        let mut id = [0; 48];
        let at = if self.wanted.at_server { 0 } else { 2 };
        id[at..at + 2].copy_from_slice(&self.wanted.port.to_be_bytes());
        self.ask(family, DUMP, 0, &id)?;
        loop {
            let length = recv(self.questions.as_raw_fd(), &mut self.buffer, MsgFlags::empty())?;
            for (kind, message) in messages(&self.buffer[..length]) {
                match kind {
                    DONE => return Ok(()),
                    ERROR => return Err(error_of(message)),
                    _ => {
                        if let Some(identity) = Identity::of(message).filter(|found| self.wanted.holds(found)) {
                            self.known.insert(identity.cookie(), identity);
                        }
                    }
                }
            }
        }
    }

    /// Asks for every known socket; calls `each` with the time before the question and the answer.
    pub fn sample(&mut self, mut each: impl FnMut(u64, &[u8])) -> nix::Result<()> {
        let mut gone = Vec::new();
        for (cookie, identity) in &self.known {
            let time_ns = longlook_support::clock::monotonic_ns();
            self.ask(identity.family, 0, EXTENSIONS, &identity.bytes)?;
            let length = recv(self.questions.as_raw_fd(), &mut self.buffer, MsgFlags::empty())?;
            match messages(&self.buffer[..length]).next() {
                Some((BY_FAMILY, message)) if message.get(1) != Some(&TIME_WAIT) => each(time_ns, message),
                _ => gone.push(*cookie),
            }
        }
        for cookie in gone {
            self.known.remove(&cookie);
        }
        Ok(())
    }

    /// Takes the last words of sockets that were destroyed.
    pub fn hear(&mut self, mut each: impl FnMut(u64, &[u8])) -> nix::Result<()> {
        loop {
            let length = match recv(self.destroyed.as_raw_fd(), &mut self.buffer, MsgFlags::MSG_DONTWAIT) {
                Err(Errno::EAGAIN) => return Ok(()),
                Err(Errno::EINTR | Errno::ENOBUFS) => continue, // too many at once: what was lost is only a last word
                other => other?,
            };
            let time_ns = longlook_support::clock::monotonic_ns();
            for (_, message) in messages(&self.buffer[..length]) {
                if let Some(identity) = Identity::of(message).filter(|found| self.wanted.holds(found)) {
                    self.known.remove(&identity.cookie());
                    each(time_ns, message);
                }
            }
        }
    }

    fn ask(&self, family: u8, flags: u16, extensions: u8, id: &[u8; 48]) -> nix::Result<()> {
        let mut request = [0_u8; REQUEST_BYTES];
        request[..4].copy_from_slice(&(REQUEST_BYTES as u32).to_ne_bytes());
        request[4..6].copy_from_slice(&BY_FAMILY.to_ne_bytes());
        request[6..8].copy_from_slice(&(REQUEST | flags).to_ne_bytes());
        request[HEADER_BYTES..HEADER_BYTES + 3].copy_from_slice(&[family, TCP, extensions]);
        request[20..24].copy_from_slice(&STATES.to_ne_bytes());
        request[24..].copy_from_slice(id);
        send(self.questions.as_raw_fd(), &request, MsgFlags::empty()).map(|_| ())
    }
}

fn error_of(message: &[u8]) -> Errno {
    let number = message.first_chunk().map_or(0, |bytes| i32::from_ne_bytes(*bytes));
    Errno::from_raw(-number)
}

fn messages(mut data: &[u8]) -> impl Iterator<Item = (u16, &[u8])> {
    std::iter::from_fn(move || {
        let length = u32::from_ne_bytes(*data.first_chunk()?) as usize;
        let kind = u16::from_ne_bytes(data.get(4..6)?.try_into().ok()?);
        let message = data.get(HEADER_BYTES..length)?;
        data = data.get(length.next_multiple_of(4)..).unwrap_or_default();
        Some((kind, message))
    })
}
