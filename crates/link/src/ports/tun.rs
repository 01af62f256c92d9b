//! A TUN device that hands over and takes single packets.

use std::io;
use std::os::fd::BorrowedFd;

use super::device::TunDevice;
use super::{FRAME_BYTES, Port, Received};
use crate::framing::Framing;
use longlook_support::clock::monotonic_ns;

/// See the module. Packets carry no kernel stamp, so their arrival is when they were read.
pub struct TunPort {
    device: TunDevice,
}

impl TunPort {
    pub fn new(device: TunDevice) -> Self {
        Self { device }
    }
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
