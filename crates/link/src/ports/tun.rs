//! A TUN device whose descriptor was inherited.

use std::fs::File;
use std::io::{self, Read, Write};
use std::os::fd::{AsFd, BorrowedFd, FromRawFd, OwnedFd, RawFd};

use nix::fcntl::{FcntlArg, OFlag, fcntl};

use super::{FRAME_BYTES, Port, Received};
use longlook_support::clock::monotonic_ns;
use longlook_support::failure::Failure;

/// See the module. Packets carry no kernel stamp, so their arrival is when they were read.
pub struct TunPort {
    name: String,
    device: File,
}

impl TunPort {
    /// Takes over descriptor `fd`, a TUN device opened with `IFF_TUN | IFF_NO_PI`.
    pub fn take(role: &str, fd: RawFd) -> Result<Self, Failure> {
        let failed = |error: nix::Error| {
            Failure::usage(format!("descriptor {fd} of the {role}'s TUN device is unusable: {error}"))
                .hint("open the device with IFF_TUN | IFF_NO_PI and let the router inherit the descriptor")
        };
        if fd <= 2 {
            return Err(failed(nix::Error::EBADF));
        }
        // SAFETY: it is only asked for its flags, which fails cleanly if it is not open.
        let borrowed = unsafe { BorrowedFd::borrow_raw(fd) };
        let flags = OFlag::from_bits_truncate(fcntl(borrowed, FcntlArg::F_GETFL).map_err(failed)?);
        fcntl(borrowed, FcntlArg::F_SETFL(flags | OFlag::O_NONBLOCK)).map_err(failed)?;
        // SAFETY: the descriptor is open, as fcntl has shown, and the command line hands it over to this process.
        let device = unsafe { OwnedFd::from_raw_fd(fd) };
        Ok(Self { name: format!("{role}'s TUN device (descriptor {fd})"), device: device.into() })
    }
}

impl Port for TunPort {
    fn name(&self) -> &str {
        &self.name
    }

    fn descriptor(&self) -> BorrowedFd<'_> {
        self.device.as_fd()
    }

    fn link_header_bytes(&self) -> usize {
        0
    }

    fn max_frame_bytes(&self) -> usize {
        // A read that fills the buffer may have cut the packet.
        FRAME_BYTES - 1
    }

    fn receive(&mut self, buffer: &mut [u8; FRAME_BYTES], _now_ns: u64) -> io::Result<Option<Received>> {
        match self.device.read(buffer) {
            Ok(0) => Err(io::ErrorKind::UnexpectedEof.into()),
            Ok(length) => Ok(Some(Received {
                length,
                wire_length: length,
                arrival_ns: monotonic_ns(),
                unfinished_checksum: false,
            })),
            Err(error) if matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted) => Ok(None),
            Err(error) => Err(error),
        }
    }

    fn send(&mut self, frame: &[u8]) -> io::Result<bool> {
        match self.device.write(frame) {
            Ok(_) => Ok(true),
            Err(error) if matches!(error.raw_os_error(), Some(libc::EAGAIN | libc::ENOBUFS | libc::EINTR)) => Ok(false),
            Err(error) => Err(error),
        }
    }

    fn sends_at_once(&self) -> bool {
        true
    }

    fn flush(&mut self) -> io::Result<bool> {
        Ok(true)
    }

    fn take_error(&mut self) -> io::Error {
        let mut probe = [0; 1];
        match self.device.read(&mut probe) {
            Err(error) => error,
            Ok(bytes) => io::Error::other(format!("it reported an error, yet {bytes} byte could be read")),
        }
    }

    fn is_ip(&self, frame: &[u8]) -> bool {
        matches!(frame.first().map(|first| first >> 4), Some(4 | 6))
    }
}
