//! Gathers packets into super-packets.

use super::{PSH, SUPER_BYTES, Shape, TCP_FLAGS};
use crate::virtio::{VIRTIO_BYTES, Virtio};

/// The most datagrams of one super-packet that every kernel takes (`UDP_MAX_SEGMENTS`).
pub const MAX_SEGMENTS: usize = 64;

/// See the module.
#[derive(Debug, Default)]
pub struct Batch {
    bytes: Vec<u8>,
    /// Where the gathered packets can be followed by one more.
    open: Option<Shape>,
    /// The headers of the first packet and of its shape, as long as it is open or stands for several.
    shape: Option<Shape>,
    segment_bytes: usize,
    count: usize,
    /// Room for the headers that the next packet must have.
    expected: Vec<u8>,
}

impl Batch {
    pub fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// Takes a frame; false where it is not the next packet of those that it has, which must then go first.
    pub fn add(&mut self, frame: &[u8]) -> bool {
        if self.is_empty() {
            self.begin(frame);
            return true;
        }
        let Some(shape) = self.open else { return false };
        let Some(push) = self.follows(shape, frame) else { return false };
        self.bytes.extend_from_slice(&frame[shape.payload..]);
        self.count += 1;
        let bytes = frame.len() - shape.payload;
        if push {
            self.bytes[shape.transport + TCP_FLAGS] |= PSH;
        }
        if push || bytes < self.segment_bytes || self.count == MAX_SEGMENTS {
            self.open = None;
        }
        true
    }

    fn begin(&mut self, frame: &[u8]) {
        self.bytes.clear();
        self.bytes.extend_from_slice(frame);
        self.count = 1;
        let single = Virtio::read(frame).segmentation == 0;
        self.open =
            Shape::of(frame).filter(|shape| single && frame.len() > shape.payload && shape.can_be_followed(frame));
        self.shape = self.open;
        self.segment_bytes = self.open.map_or(0, |shape| frame.len() - shape.payload);
    }

    /// Whether the super-packet, cut, would give this frame as its next packet; then whether it ends with a push.
    fn follows(&mut self, shape: Shape, frame: &[u8]) -> Option<bool> {
        let bytes = frame.len().checked_sub(shape.payload).filter(|bytes| (1..=self.segment_bytes).contains(bytes))?;
        if self.bytes.len() + bytes > SUPER_BYTES {
            return None;
        }
        let before = self.count * self.segment_bytes;
        self.expected.resize(shape.payload, 0);
        // Where nothing differs but the push, this packet is the last.
        shape.stamp(&mut self.expected, &self.bytes, self.count, before, bytes);
        let flags = shape.transport + TCP_FLAGS;
        let push = shape.tcp && frame[flags] == self.expected[flags] | PSH;
        if push {
            self.expected[flags] |= PSH;
        }
        (frame[..shape.payload] == self.expected).then_some(push)
    }

    /// The gathered packets as one frame.
    pub fn finished(&mut self) -> &[u8] {
        if let Some(shape) = self.shape.filter(|_| self.count > 1) {
            let payload_bytes = self.bytes.len() - shape.payload;
            shape.set_length(&mut self.bytes[..shape.payload], payload_bytes);
            let header = Virtio::read(&self.bytes);
            Virtio {
                segmentation: shape.segmentation(),
                header_bytes: (shape.payload - VIRTIO_BYTES) as u16,
                segment_bytes: self.segment_bytes as u16,
                ..header
            }
            .write(&mut self.bytes);
            self.open = None;
        }
        &self.bytes
    }

    /// Makes room for the next packets, after these have gone.
    pub fn clear(&mut self) {
        self.count = 0;
    }
}
