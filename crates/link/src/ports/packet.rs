//! An Ethernet interface through a packet socket.

use std::io;
use std::os::fd::BorrowedFd;

use nix::net::if_::if_nametoindex;

use super::ring::Ring;
use super::{FRAME_BYTES, Port, Received};
use crate::framing::Framing;
use longlook_support::clock::Anchor;
use longlook_support::failure::Failure;

/// A stamp further ahead of the clock means that the wall clock was stepped since the anchor was read.
const MAX_AHEAD_NS: u64 = 1_000_000;
/// A stamp further behind means that, or a router that did not run for so long.
const MAX_BEHIND_NS: u64 = 100_000_000;

/// See the module.
pub struct PacketPort {
    name: String,
    ring: Ring,
    anchor: Anchor,
    max_frame_bytes: usize,
    waiting: bool,
}

impl PacketPort {
    /// Opens the interface `name` of the current network namespace with rings of `frames` frames.
    pub fn open(name: &str, frames: usize) -> Result<Self, Failure> {
        let missing = |error| {
            Failure::new(format!("interface `{name}` cannot be found: {error}"))
                .hint("run the router in the network namespace that has it; `ip link` lists the interfaces")
        };
        let index = if_nametoindex(name).map_err(missing)?;
        let ring = Ring::open(index, frames).map_err(|error| {
            let failure = Failure::new(format!("a packet socket on interface `{name}` cannot be opened: {error}"));
            match error.kind() {
                io::ErrorKind::PermissionDenied => failure.hint("it needs root, or root of its own user namespace"),
                io::ErrorKind::OutOfMemory => failure.hint("use smaller rings: --ring-frames"),
                _ => failure,
            }
        })?;
        let mtu =
            ring.mtu(name).map_err(|error| Failure::new(format!("the MTU of `{name}` cannot be read: {error}")))?;
        Ok(Self {
            name: name.to_owned(),
            ring,
            anchor: Anchor::read(),
            max_frame_bytes: (mtu + Framing::Ethernet.header_bytes()).min(Ring::max_send_bytes()),
            waiting: false,
        })
    }

    fn monotonic(anchor: &mut Anchor, unix_ns: u64, now_ns: u64) -> u64 {
        let plausible = now_ns.saturating_sub(MAX_BEHIND_NS)..=now_ns + MAX_AHEAD_NS;
        let stamp_ns = anchor.to_monotonic(unix_ns);
        if plausible.contains(&stamp_ns) {
            return stamp_ns;
        }
        *anchor = Anchor::read();
        anchor.to_monotonic(unix_ns).min(anchor.monotonic_ns)
    }
}

impl Port for PacketPort {
    fn name(&self) -> &str {
        &self.name
    }

    fn descriptor(&self) -> BorrowedFd<'_> {
        self.ring.descriptor()
    }

    fn framing(&self) -> Framing {
        Framing::Ethernet
    }

    fn max_frame_bytes(&self) -> usize {
        self.max_frame_bytes
    }

    fn receive(&mut self, buffer: &mut [u8; FRAME_BYTES], now_ns: u64) -> io::Result<Option<Received>> {
        let anchor = &mut self.anchor;
        Ok(self.ring.receive(|frame| {
            buffer[..frame.bytes.len()].copy_from_slice(frame.bytes);
            Received {
                length: frame.bytes.len(),
                wire_length: frame.wire_length,
                arrival_ns: Self::monotonic(anchor, frame.unix_ns, now_ns),
                unfinished_checksum: frame.unfinished_checksum,
            }
        }))
    }

    fn send(&mut self, frame: &[u8]) -> io::Result<bool> {
        let taken = self.ring.put(frame);
        self.waiting |= taken;
        Ok(taken)
    }

    fn flush(&mut self) -> io::Result<bool> {
        if self.waiting {
            match self.ring.kick() {
                Ok(()) => self.waiting = false,
                // The frames stay in the ring for the next call.
                Err(error) if matches!(error.raw_os_error(), Some(libc::EAGAIN | libc::ENOBUFS | libc::EINTR)) => {}
                Err(error) => return Err(error),
            }
        }
        Ok(!self.waiting)
    }

    fn synchronise_clock(&mut self) {
        self.anchor = Anchor::read();
    }

    fn take_error(&mut self) -> io::Error {
        match self.ring.take_error() {
            Ok(0) => io::Error::other("its packet socket reported an error without a reason"),
            Ok(code) => io::Error::from_raw_os_error(code),
            Err(error) => error,
        }
    }

    fn kernel_drops(&self) -> io::Result<u64> {
        self.ring.take_drops()
    }

    fn is_ip(&self, frame: &[u8]) -> bool {
        matches!(frame.get(12..14), Some([0x08, 0x00] | [0x86, 0xdd]))
    }
}
