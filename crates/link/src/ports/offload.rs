//! A TUN device that hands over and takes super-packets, as a network card with segmentation offload does.
//!
//! The link sees the packets that such a card would send, one by one. Those that leave at the same time are given to the
//! kernel together, where they follow each other in a flow.

use std::io;
use std::os::fd::BorrowedFd;

use super::device::TunDevice;
use super::segments::{Batch, Cut, SUPER_BYTES};
use super::{FRAME_BYTES, Port, Received};
use crate::framing::Framing;
use crate::virtio::VIRTIO_BYTES;
use longlook_support::clock::monotonic_ns;

/// See the module. Packets carry no kernel stamp: those of a super-packet arrive when it was read.
pub struct OffloadPort {
    device: TunDevice,
    /// What was read last.
    buffer: Vec<u8>,
    length: usize,
    arrival_ns: u64,
    /// Where it stands for several packets of which some are left.
    cut: Option<Cut>,
    batch: Batch,
}

impl OffloadPort {
    pub fn new(device: TunDevice) -> Self {
        Self { device, buffer: vec![0; SUPER_BYTES], length: 0, arrival_ns: 0, cut: None, batch: Batch::default() }
    }

    fn received(&self, length: usize, wire_length: usize) -> Received {
        Received { length, wire_length, arrival_ns: self.arrival_ns, unfinished_checksum: false }
    }
}

impl Port for OffloadPort {
    fn name(&self) -> &str {
        self.device.name()
    }

    fn descriptor(&self) -> BorrowedFd<'_> {
        self.device.descriptor()
    }

    fn framing(&self) -> Framing {
        Framing::Virtio
    }

    fn max_frame_bytes(&self) -> usize {
        FRAME_BYTES - 1
    }

    fn receive(&mut self, buffer: &mut [u8; FRAME_BYTES], _now_ns: u64) -> io::Result<Option<Received>> {
        if let Some(cut) = &mut self.cut {
            if let Some(length) = cut.next(&self.buffer[..self.length], buffer) {
                return Ok(Some(self.received(length, length)));
            }
            self.cut = None;
        }
        let Some(length) = self.device.read(&mut self.buffer)? else { return Ok(None) };
        if length < VIRTIO_BYTES {
            return Err(io::Error::other(format!("it gave {length} bytes, which is less than a packet's header")));
        }
        (self.length, self.arrival_ns) = (length, monotonic_ns());
        self.cut = Cut::begin(&self.buffer[..length]);
        if let Some(length) = self.cut.as_mut().and_then(|cut| cut.next(&self.buffer[..length], buffer)) {
            return Ok(Some(self.received(length, length)));
        }
        let kept = length.min(FRAME_BYTES);
        buffer[..kept].copy_from_slice(&self.buffer[..kept]);
        Ok(Some(self.received(kept, length)))
    }

    fn send(&mut self, frame: &[u8]) -> io::Result<bool> {
        if self.batch.add(frame) {
            return Ok(true);
        }
        Ok(self.flush()? && self.batch.add(frame))
    }

    fn flush(&mut self) -> io::Result<bool> {
        if self.batch.is_empty() {
            return Ok(true);
        }
        let written = self.device.write(self.batch.finished())?;
        if written {
            self.batch.clear();
        }
        Ok(written)
    }

    fn take_error(&mut self) -> io::Error {
        self.device.take_error()
    }

    fn is_ip(&self, frame: &[u8]) -> bool {
        matches!(frame.get(VIRTIO_BYTES).map(|first| first >> 4), Some(4 | 6))
    }
}
