//! A TUN device whose descriptor was inherited.

use std::fs::File;
use std::io::{self, Read, Write};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd, RawFd};

use nix::fcntl::{FcntlArg, OFlag, fcntl};

use super::offload::OffloadPort;
use super::{FRAME_BYTES, Port, Received};
use crate::framing::Framing;
use longlook_support::clock::monotonic_ns;
use longlook_support::failure::Failure;

/// Takes over descriptor `fd`, a TUN device opened with `IFF_TUN | IFF_NO_PI`. One that was opened with `IFF_VNET_HDR`
/// too hands over super-packets.
pub fn take(role: &str, fd: RawFd) -> Result<Box<dyn Port>, Failure> {
    let failed = |error: io::Error| {
        Failure::usage(format!("descriptor {fd} of the {role}'s TUN device is unusable: {error}"))
            .hint("open the device with IFF_TUN | IFF_NO_PI and let the router inherit the descriptor")
    };
    if fd <= 2 {
        return Err(failed(nix::Error::EBADF.into()));
    }
    // SAFETY: it is only asked for its flags, which fails cleanly if it is not open.
    let borrowed = unsafe { BorrowedFd::borrow_raw(fd) };
    let flags = fcntl(borrowed, FcntlArg::F_GETFL).map_err(|error| failed(error.into()))?;
    let flags = OFlag::from_bits_truncate(flags) | OFlag::O_NONBLOCK;
    fcntl(borrowed, FcntlArg::F_SETFL(flags)).map_err(|error| failed(error.into()))?;
    // SAFETY: the descriptor is open, as fcntl has shown, and the command line hands it over to this process.
    let file = File::from(unsafe { OwnedFd::from_raw_fd(fd) });
    let device = Device { name: format!("{role}'s TUN device (descriptor {fd})"), file };
    if device.hands_over_super_packets().map_err(failed)? {
        Ok(Box::new(OffloadPort::new(device)))
    } else {
        Ok(Box::new(TunPort { device }))
    }
}

/// The device itself.
pub struct Device {
    name: String,
    file: File,
}

impl Device {
    pub fn name(&self) -> &str {
        &self.name
    }

    pub fn descriptor(&self) -> BorrowedFd<'_> {
        self.file.as_fd()
    }

    fn hands_over_super_packets(&self) -> io::Result<bool> {
        // SAFETY: all zeros is a valid request; the kernel fills in name and flags, the member read below.
        unsafe {
            let mut request: libc::ifreq = std::mem::zeroed();
            if libc::ioctl(self.file.as_raw_fd(), libc::TUNGETIFF as _, &raw mut request) < 0 {
                return Err(io::Error::last_os_error());
            }
            Ok(libc::c_int::from(request.ifr_ifru.ifru_flags) & libc::IFF_VNET_HDR != 0)
        }
    }

    /// The length of what was read, or None where nothing waits.
    pub fn read(&mut self, buffer: &mut [u8]) -> io::Result<Option<usize>> {
        match self.file.read(buffer) {
            Ok(0) => Err(io::ErrorKind::UnexpectedEof.into()),
            Ok(length) => Ok(Some(length)),
            Err(error) if matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted) => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Gives a frame to the kernel; false when there is no room at the moment.
    pub fn write(&mut self, frame: &[u8]) -> io::Result<bool> {
        match self.file.write(frame) {
            Ok(_) => Ok(true),
            Err(error) if matches!(error.raw_os_error(), Some(libc::EAGAIN | libc::ENOBUFS | libc::EINTR)) => Ok(false),
            Err(error) => Err(error),
        }
    }

    /// As [`Port::take_error`].
    pub fn take_error(&mut self) -> io::Error {
        let mut probe = [0; 1];
        match self.file.read(&mut probe) {
            Err(error) => error,
            Ok(bytes) => io::Error::other(format!("it reported an error, yet {bytes} byte could be read")),
        }
    }
}

/// Packets carry no kernel stamp, so their arrival is when they were read.
struct TunPort {
    device: Device,
}

impl Port for TunPort {
    fn name(&self) -> &str {
        self.device.name()
    }

    fn descriptor(&self) -> BorrowedFd<'_> {
        self.device.descriptor()
    }

    fn framing(&self) -> Framing {
        Framing::Bare
    }

    fn max_frame_bytes(&self) -> usize {
        // A read that fills the buffer may have cut the packet.
        FRAME_BYTES - 1
    }

    fn receive(&mut self, buffer: &mut [u8; FRAME_BYTES], _now_ns: u64) -> io::Result<Option<Received>> {
        let Some(length) = self.device.read(buffer)? else { return Ok(None) };
        Ok(Some(Received { length, wire_length: length, arrival_ns: monotonic_ns(), unfinished_checksum: false }))
    }

    fn send(&mut self, frame: &[u8]) -> io::Result<bool> {
        self.device.write(frame)
    }

    fn sends_at_once(&self) -> bool {
        true
    }

    fn flush(&mut self) -> io::Result<bool> {
        Ok(true)
    }

    fn take_error(&mut self) -> io::Error {
        self.device.take_error()
    }

    fn is_ip(&self, frame: &[u8]) -> bool {
        matches!(frame.first().map(|first| first >> 4), Some(4 | 6))
    }
}
