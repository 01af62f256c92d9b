//! The shared memory of a packet socket (`TPACKET_V2`). All unsafe code of the `AF_PACKET` backend is here.
//!
//! The kernel and this process own each frame in turn, as its status word shows: it is read with acquire before a
//! frame's bytes are touched and written with release after.

use std::io;
use std::os::fd::{AsRawFd, BorrowedFd, FromRawFd, OwnedFd};
use std::sync::atomic::{AtomicU32, Ordering};

use libc::{c_int, c_void};

use super::FRAME_BYTES;

const BLOCK_FRAMES: usize = 16;
/// Where the kernel looks for the bytes of a frame to be sent: after the aligned header.
const SEND_OFFSET: usize = 32;

/// The kernel's header of a received frame.
pub struct RingFrame<'a> {
    pub bytes: &'a [u8],
    pub wire_length: usize,
    pub unix_ns: u64,
    pub unfinished_checksum: bool,
}

/// A packet socket with a ring for each way, bound to one interface.
pub struct Ring {
    socket: OwnedFd,
    memory: *mut u8,
    frames: usize,
    next_receive: usize,
    next_send: usize,
}

fn set_option<T>(socket: &OwnedFd, name: c_int, value: &T) -> io::Result<()> {
    // SAFETY: the value outlives the call and its size is its own.
    let done = unsafe {
        libc::setsockopt(
            socket.as_raw_fd(),
            libc::SOL_PACKET,
            name,
            std::ptr::from_ref(value).cast(),
            size_of::<T>() as libc::socklen_t,
        )
    };
    if done < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
}

fn get_option<T: Default>(socket: BorrowedFd<'_>, level: c_int, name: c_int) -> io::Result<T> {
    let mut value = T::default();
    let mut size = size_of::<T>() as libc::socklen_t;
    // SAFETY: the kernel writes at most `size` bytes into a value of that size; the types used are plain integers.
    let done = unsafe { libc::getsockopt(socket.as_raw_fd(), level, name, (&raw mut value).cast(), &raw mut size) };
    if done < 0 { Err(io::Error::last_os_error()) } else { Ok(value) }
}

impl Ring {
    /// Opens a socket with `frames` frames each way on the interface of that index.
    pub fn open(interface: u32, frames: usize) -> io::Result<Self> {
        let kind = libc::SOCK_RAW | libc::SOCK_NONBLOCK | libc::SOCK_CLOEXEC;
        // SAFETY: plain call; the descriptor is owned from here on. Protocol 0: nothing is received until bind.
        let socket = unsafe { libc::socket(libc::AF_PACKET, kind, 0) };
        if socket < 0 {
            return Err(io::Error::last_os_error());
        }
        // SAFETY: it was just opened and has no other owner.
        let socket = unsafe { OwnedFd::from_raw_fd(socket) };
        let on: c_int = 1;
        set_option(&socket, libc::PACKET_VERSION, &(libc::tpacket_versions::TPACKET_V2 as c_int))?;
        set_option(&socket, libc::PACKET_IGNORE_OUTGOING, &on)?;
        set_option(&socket, libc::PACKET_QDISC_BYPASS, &on)?;
        // A frame that the driver refuses must not stop those behind it.
        set_option(&socket, libc::PACKET_LOSS, &on)?;
        let frames = frames.next_multiple_of(BLOCK_FRAMES);
        let request = libc::tpacket_req {
            tp_block_size: (FRAME_BYTES * BLOCK_FRAMES) as u32,
            tp_block_nr: (frames / BLOCK_FRAMES) as u32,
            tp_frame_size: FRAME_BYTES as u32,
            tp_frame_nr: frames as u32,
        };
        set_option(&socket, libc::PACKET_RX_RING, &request)?;
        set_option(&socket, libc::PACKET_TX_RING, &request)?;
        let memory = map(&socket, frames * FRAME_BYTES * 2)?;
        let ring = Self { socket, memory, frames, next_receive: 0, next_send: 0 };
        ring.bind(interface)?;
        Ok(ring)
    }

    fn bind(&self, interface: u32) -> io::Result<()> {
        // SAFETY: all zeros is a valid address, of which the needed fields are set.
        let mut address: libc::sockaddr_ll = unsafe { std::mem::zeroed() };
        address.sll_family = libc::AF_PACKET as u16;
        address.sll_protocol = (libc::ETH_P_ALL as u16).to_be();
        address.sll_ifindex = interface as c_int;
        let size = size_of::<libc::sockaddr_ll>() as libc::socklen_t;
        // SAFETY: the address outlives the call and has the given size.
        let done = unsafe { libc::bind(self.socket.as_raw_fd(), (&raw const address).cast(), size) };
        if done < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
    }

    /// The largest IP packet that the interface `name` takes.
    pub fn mtu(&self, name: &str) -> io::Result<usize> {
        // SAFETY: all zeros is a valid request.
        let mut request: libc::ifreq = unsafe { std::mem::zeroed() };
        for (to, from) in request.ifr_name.iter_mut().zip(name.bytes().take(libc::IFNAMSIZ - 1)) {
            *to = from as libc::c_char;
        }
        // SAFETY: the kernel reads the name and fills in the MTU, the member read below.
        unsafe {
            if libc::ioctl(self.socket.as_raw_fd(), libc::SIOCGIFMTU, &raw mut request) < 0 {
                return Err(io::Error::last_os_error());
            }
            Ok(request.ifr_ifru.ifru_mtu.unsigned_abs() as usize)
        }
    }

    pub fn descriptor(&self) -> BorrowedFd<'_> {
        std::os::fd::AsFd::as_fd(&self.socket)
    }

    /// The start of a frame; the receive ring is first, the send ring follows it.
    fn frame(&self, index: usize) -> *mut libc::tpacket2_hdr {
        debug_assert!(index < self.frames * 2);
        // SAFETY: the mapping holds twice `frames` frames; it is page-aligned and a frame is 2048 bytes.
        unsafe { self.memory.add(index * FRAME_BYTES).cast() }
    }

    #[expect(clippy::unused_self, reason = "it ties the reference to the mapping")]
    fn status(&self, frame: *mut libc::tpacket2_hdr) -> &AtomicU32 {
        // SAFETY: the status word is the first of a frame and lives as long as the mapping, which `self` owns. The
        // kernel writes it too, hence the atomic.
        unsafe { AtomicU32::from_ptr(&raw mut (*frame).tp_status) }
    }

    /// Shows the next received frame to `take` and gives it back to the kernel; None when none waits.
    pub fn receive<R>(&mut self, take: impl FnOnce(RingFrame<'_>) -> R) -> Option<R> {
        let frame = self.frame(self.next_receive);
        let flags = self.status(frame).load(Ordering::Acquire);
        if flags & libc::TP_STATUS_USER == 0 {
            return None;
        }
        // SAFETY: the status shows that the frame is ours, so the kernel has filled in its header and leaves it alone.
        let header = unsafe { &*frame };
        let offset = usize::from(header.tp_mac);
        let length = (header.tp_snaplen as usize).min(FRAME_BYTES - offset.min(FRAME_BYTES));
        // SAFETY: offset and length stay inside the frame, which is ours until the status is written below.
        let bytes = unsafe { std::slice::from_raw_parts(frame.cast::<u8>().add(offset), length) };
        let taken = take(RingFrame {
            bytes,
            wire_length: header.tp_len as usize,
            unix_ns: u64::from(header.tp_sec) * 1_000_000_000 + u64::from(header.tp_nsec),
            unfinished_checksum: flags & libc::TP_STATUS_CSUMNOTREADY != 0,
        });
        self.status(frame).store(libc::TP_STATUS_KERNEL, Ordering::Release);
        self.next_receive = (self.next_receive + 1) % self.frames;
        Some(taken)
    }

    /// Puts a frame into the send ring; false when the ring is full.
    pub fn put(&mut self, bytes: &[u8]) -> bool {
        assert!(bytes.len() <= Self::max_send_bytes(), "the caller keeps frames to what fits");
        let frame = self.frame(self.frames + self.next_send);
        if self.status(frame).load(Ordering::Acquire) != libc::TP_STATUS_AVAILABLE {
            return false;
        }
        // SAFETY: the status shows that the frame is ours; header and bytes fit it by the assertion above.
        unsafe {
            (*frame).tp_len = bytes.len() as u32;
            std::ptr::copy_nonoverlapping(bytes.as_ptr(), frame.cast::<u8>().add(SEND_OFFSET), bytes.len());
        }
        self.status(frame).store(libc::TP_STATUS_SEND_REQUEST, Ordering::Release);
        self.next_send = (self.next_send + 1) % self.frames;
        true
    }

    /// The largest frame that [`Ring::put`] takes.
    pub fn max_send_bytes() -> usize {
        FRAME_BYTES - SEND_OFFSET
    }

    /// Asks the kernel to send the frames of the ring.
    pub fn kick(&self) -> io::Result<()> {
        // SAFETY: no buffer is given; the frames are in the ring.
        let sent = unsafe { libc::send(self.socket.as_raw_fd(), std::ptr::null::<c_void>(), 0, libc::MSG_DONTWAIT) };
        if sent < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
    }

    /// Packets that found the receive ring full since the last call.
    pub fn take_drops(&self) -> io::Result<u64> {
        let statistics: [u32; 2] = get_option(self.descriptor(), libc::SOL_PACKET, libc::PACKET_STATISTICS)?;
        Ok(u64::from(statistics[1]))
    }

    /// The error that the kernel has noted on the socket, 0 for none.
    pub fn take_error(&self) -> io::Result<c_int> {
        get_option(self.descriptor(), libc::SOL_SOCKET, libc::SO_ERROR)
    }
}

fn map(socket: &OwnedFd, bytes: usize) -> io::Result<*mut u8> {
    let protection = libc::PROT_READ | libc::PROT_WRITE;
    // SAFETY: a new mapping at an address of the kernel's choice.
    let memory =
        unsafe { libc::mmap(std::ptr::null_mut(), bytes, protection, libc::MAP_SHARED, socket.as_raw_fd(), 0) };
    if memory == libc::MAP_FAILED { Err(io::Error::last_os_error()) } else { Ok(memory.cast()) }
}

impl Drop for Ring {
    fn drop(&mut self) {
        // SAFETY: the mapping was made with this size and nothing refers to it any more.
        unsafe { libc::munmap(self.memory.cast(), self.frames * FRAME_BYTES * 2) };
    }
}
