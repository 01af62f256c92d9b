//! A TUN device whose descriptor was inherited.

use std::fs::File;
use std::io::{self, Read, Write};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd, RawFd};

use nix::fcntl::{FcntlArg, OFlag, fcntl};

use longlook_support::failure::Failure;

/// See the module.
pub struct TunDevice {
    name: String,
    file: File,
    /// Whether it was opened with `IFF_VNET_HDR` too, and so gives and takes super-packets.
    pub offload: bool,
}

impl TunDevice {
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
        let file = File::from(unsafe { OwnedFd::from_raw_fd(fd) });
        let offload = has_virtio_header(&file).map_err(failed)?;
        Ok(Self { name: format!("{role}'s TUN device (descriptor {fd})"), file, offload })
    }

    pub fn name(&self) -> &str {
        &self.name
    }

    pub fn descriptor(&self) -> BorrowedFd<'_> {
        self.file.as_fd()
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

    /// As [`super::Port::take_error`].
    pub fn take_error(&mut self) -> io::Error {
        let mut probe = [0; 1];
        match self.file.read(&mut probe) {
            Err(error) => error,
            Ok(bytes) => io::Error::other(format!("it reported an error, yet {bytes} byte could be read")),
        }
    }
}

/// Whether a TUN device was opened with `IFF_VNET_HDR`; an error where the descriptor is something else.
fn has_virtio_header(device: &File) -> nix::Result<bool> {
    // SAFETY: all zeros is a valid request; the kernel fills in name and flags, the member read below.
    unsafe {
        let mut request: libc::ifreq = std::mem::zeroed();
        nix::Error::result(libc::ioctl(device.as_raw_fd(), libc::TUNGETIFF as _, &raw mut request))?;
        Ok(libc::c_int::from(request.ifr_ifru.ifru_flags) & libc::IFF_VNET_HDR != 0)
    }
}
