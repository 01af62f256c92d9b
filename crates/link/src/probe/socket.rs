//! UDP sockets with the kernel's receive stamps. All unsafe code of the probe is here.

use std::io;
use std::net::UdpSocket;
use std::os::fd::AsRawFd;

use libc::{c_int, c_void};

use super::{STAMP_BYTES, UDP_IP_BYTES};

const BATCH: usize = 64;
const CONTROL_BYTES: usize = 128;
const BUFFER_BYTES: c_int = 64 << 20;
const SO_TIMESTAMPNS: c_int = 35;
const SO_RXQ_OVFL: c_int = 40;

/// One datagram as it came.
#[derive(Debug, Clone, Copy, Default)]
pub struct Arrival {
    pub sequence: u64,
    pub sent_ns: u64,
    pub received_ns: u64,
    pub size_bytes: u32,
    pub ttl: u8,
    pub tos: u8,
    pub intact: bool,
}

pub fn set_option(socket: &UdpSocket, level: c_int, name: c_int, value: c_int) -> io::Result<()> {
    let size = size_of::<c_int>() as libc::socklen_t;
    // SAFETY: the value outlives the call and has the given size.
    let done = unsafe { libc::setsockopt(socket.as_raw_fd(), level, name, (&raw const value).cast(), size) };
    if done < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
}

/// As large as allowed: beyond the host's limit only for root of the host.
pub fn enlarge_buffers(socket: &UdpSocket) -> io::Result<()> {
    for (forced, plain) in [(libc::SO_RCVBUFFORCE, libc::SO_RCVBUF), (libc::SO_SNDBUFFORCE, libc::SO_SNDBUF)] {
        set_option(socket, libc::SOL_SOCKET, forced, BUFFER_BYTES)
            .or_else(|_| set_option(socket, libc::SOL_SOCKET, plain, BUFFER_BYTES))?;
    }
    Ok(())
}

/// Takes datagrams in batches.
pub struct Receiver {
    socket: UdpSocket,
    buffers: Vec<[u8; STAMP_BYTES + 2048]>,
    controls: Vec<Control>,
    /// Datagrams for which the socket had no room.
    pub dropped: u32,
}

#[repr(C, align(8))]
#[derive(Clone, Copy)]
struct Control([u8; CONTROL_BYTES]);

impl Receiver {
    pub fn new(socket: UdpSocket) -> io::Result<Self> {
        enlarge_buffers(&socket)?;
        set_option(&socket, libc::SOL_SOCKET, SO_TIMESTAMPNS, 1)?;
        set_option(&socket, libc::SOL_SOCKET, SO_RXQ_OVFL, 1)?;
        set_option(&socket, libc::IPPROTO_IP, libc::IP_RECVTTL, 1)?;
        set_option(&socket, libc::IPPROTO_IP, libc::IP_RECVTOS, 1)?;
        socket.set_nonblocking(true)?;
        Ok(Self {
            socket,
            buffers: vec![[0; STAMP_BYTES + 2048]; BATCH],
            controls: vec![Control([0; CONTROL_BYTES]); BATCH],
            dropped: 0,
        })
    }

    pub fn socket(&self) -> &UdpSocket {
        &self.socket
    }

    /// Shows every datagram that waits, at most a batch, to `take`; how many there were.
    pub fn receive(&mut self, mut take: impl FnMut(Arrival)) -> io::Result<usize> {
        let mut vectors: Vec<libc::iovec> = self
            .buffers
            .iter_mut()
            .map(|buffer| libc::iovec { iov_base: buffer.as_mut_ptr().cast(), iov_len: buffer.len() })
            .collect();
        let mut messages: Vec<libc::mmsghdr> = vectors
            .iter_mut()
            .zip(&mut self.controls)
            .map(|(vector, control)| {
                // SAFETY: all zeros is a valid header; the needed fields are set below.
                let mut message: libc::mmsghdr = unsafe { std::mem::zeroed() };
                message.msg_hdr.msg_iov = vector;
                message.msg_hdr.msg_iovlen = 1;
                message.msg_hdr.msg_control = control.0.as_mut_ptr().cast::<c_void>();
                message.msg_hdr.msg_controllen = CONTROL_BYTES as _;
                message
            })
            .collect();
        // SAFETY: as many messages as the kernel expects, each with buffers that outlive the call.
        let count = unsafe {
            libc::recvmmsg(
                self.socket.as_raw_fd(),
                messages.as_mut_ptr(),
                BATCH as u32,
                libc::MSG_DONTWAIT as _,
                std::ptr::null_mut(),
            )
        };
        if count < 0 {
            let error = io::Error::last_os_error();
            let nothing = matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted);
            return if nothing { Ok(0) } else { Err(error) };
        }
        let count = count.unsigned_abs() as usize;
        for (index, message) in messages[..count].iter().enumerate() {
            let length = message.msg_len as usize;
            let mut arrival = Arrival { size_bytes: message.msg_len + UDP_IP_BYTES, ..Arrival::default() };
            self.read_controls(&message.msg_hdr, &mut arrival);
            let bytes = &self.buffers[index][..length];
            if length >= STAMP_BYTES {
                arrival.sequence = word(&bytes[..8]);
                arrival.sent_ns = word(&bytes[8..16]);
                arrival.intact = bytes[STAMP_BYTES..].iter().all(|&byte| byte == 0);
            }
            take(arrival);
        }
        Ok(count)
    }

    fn read_controls(&mut self, header: &libc::msghdr, arrival: &mut Arrival) {
        // SAFETY: the kernel filled in the control buffer of this header, which the macros walk within its bounds; each
        // kind of message carries the type that is read from it, without regard to alignment.
        unsafe {
            let mut control = libc::CMSG_FIRSTHDR(header);
            while !control.is_null() {
                let data = libc::CMSG_DATA(control);
                match ((*control).cmsg_level, (*control).cmsg_type) {
                    (libc::SOL_SOCKET, SO_TIMESTAMPNS) => {
                        let stamp = data.cast::<libc::timespec>().read_unaligned();
                        arrival.received_ns = stamp.tv_sec as u64 * 1_000_000_000 + stamp.tv_nsec as u64;
                    }
                    (libc::SOL_SOCKET, SO_RXQ_OVFL) => self.dropped = data.cast::<u32>().read_unaligned(),
                    (libc::IPPROTO_IP, libc::IP_TTL) => arrival.ttl = data.cast::<c_int>().read_unaligned() as u8,
                    (libc::IPPROTO_IP, libc::IP_TOS) => arrival.tos = data.read(),
                    _ => {}
                }
                control = libc::CMSG_NXTHDR(header, control);
            }
        }
    }
}

fn word(bytes: &[u8]) -> u64 {
    u64::from_le_bytes(bytes.try_into().expect("eight bytes were taken"))
}
