//! Cuts super-packets.

use super::{CWR, FIN, PSH, Shape, TCP_FLAGS};
use crate::ports::FRAME_BYTES;
use crate::virtio::{VIRTIO_BYTES, Virtio};

/// A super-packet on its way through the cutter: which packet is next.
#[derive(Debug)]
pub struct Cut {
    shape: Shape,
    segment_bytes: usize,
    index: usize,
}

impl Cut {
    /// Begins to cut a frame; None where it is a single packet, or of a kind that is not known here.
    pub fn begin(frame: &[u8]) -> Option<Self> {
        let header = Virtio::read(frame.get(..VIRTIO_BYTES)?);
        let shape = Shape::of(frame)?;
        let segment_bytes = usize::from(header.segment_bytes);
        let known = header.segmentation == shape.segmentation() && segment_bytes > 0;
        let fits = shape.payload + segment_bytes <= FRAME_BYTES && shape.payload < frame.len();
        (known && fits).then_some(Self { shape, segment_bytes, index: 0 })
    }

    /// Writes the next packet with its header and returns its length; None after the last.
    pub fn next(&mut self, frame: &[u8], packet: &mut [u8; FRAME_BYTES]) -> Option<usize> {
        let Shape { transport, payload, tcp, .. } = self.shape;
        let before = self.index * self.segment_bytes;
        let start = payload + before;
        if start >= frame.len() {
            return None;
        }
        let end = frame.len().min(start + self.segment_bytes);
        let length = payload + end - start;
        self.shape.stamp(&mut packet[..payload], frame, self.index, before, end - start);
        packet[payload..length].copy_from_slice(&frame[start..end]);
        if tcp {
            let flags = &mut packet[transport + TCP_FLAGS];
            *flags &= if end < frame.len() { !(FIN | PSH) } else { u8::MAX };
            *flags &= if self.index > 0 { !CWR } else { u8::MAX };
        }
        self.index += 1;
        Some(length)
    }
}
