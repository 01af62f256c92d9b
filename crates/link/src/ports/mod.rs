//! The interfaces that packets come from and go to: one backend a file.

mod device;
mod offload;
mod packet;
mod ring;
mod segments;
mod tun;

use std::io;
use std::os::fd::BorrowedFd;

use crate::framing::Framing;

pub use device::TunDevice;
pub use offload::OffloadPort;
pub use packet::PacketPort;
pub use tun::TunPort;

/// Room for one frame; a larger one is not moved but counted.
pub const FRAME_BYTES: usize = 2048;

/// A frame as it was received.
#[derive(Debug, Clone, Copy)]
pub struct Received {
    /// Bytes in the buffer.
    pub length: usize,
    /// Bytes it had; more than `length` if it did not fit.
    pub wire_length: usize,
    /// When the kernel got it, on the monotonic clock.
    pub arrival_ns: u64,
    /// Whether its checksum was left for hardware to fill in.
    pub unfinished_checksum: bool,
}

/// One of the router's two interfaces.
pub trait Port {
    /// How errors name it.
    fn name(&self) -> &str;

    /// The descriptor that becomes readable when a frame waits.
    fn descriptor(&self) -> BorrowedFd<'_>;

    /// What stands before the IP header.
    fn framing(&self) -> Framing;

    /// The largest frame that it can send, link header included.
    fn max_frame_bytes(&self) -> usize;

    /// The next frame, or None when none waits. `now_ns` is a recent reading of the clock.
    fn receive(&mut self, buffer: &mut [u8; FRAME_BYTES], now_ns: u64) -> io::Result<Option<Received>>;

    /// Takes a frame for sending; false when there is no room at the moment.
    fn send(&mut self, frame: &[u8]) -> io::Result<bool>;

    /// Whether a frame has left, and its receiver has dealt with it, when [`Port::send`] returns.
    fn sends_at_once(&self) -> bool {
        false
    }

    /// Sends what was taken, where sending waits for this; false when some of it must wait for another call.
    fn flush(&mut self) -> io::Result<bool>;

    /// Follows steps of the wall clock, where stamps come from it.
    fn synchronise_clock(&mut self) {}

    /// Returns the state of the port after its descriptor reported an error.
    fn take_error(&mut self) -> io::Error;

    /// Packets that the kernel dropped for lack of room since it was opened.
    fn kernel_drops(&self) -> io::Result<u64> {
        Ok(0)
    }

    /// Whether a frame carries an IP packet.
    fn is_ip(&self, frame: &[u8]) -> bool;
}
