//! What stands before the IP header of a frame.

use crate::virtio::{self, VIRTIO_BYTES};

/// See the module.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Framing {
    /// Nothing: a TUN device.
    Bare,
    /// Ethernet.
    Ethernet,
    /// What is left to be done to the packet: a TUN device with `IFF_VNET_HDR`.
    Virtio,
}

impl Framing {
    /// Bytes before the IP header.
    pub fn header_bytes(self) -> usize {
        match self {
            Self::Bare => 0,
            Self::Ethernet => 14,
            Self::Virtio => VIRTIO_BYTES,
        }
    }

    /// Finishes the packet of a frame before its bytes are changed: a checksum made afterwards would hide the change.
    pub fn finish(self, frame: &mut [u8]) {
        if self == Self::Virtio {
            virtio::finish_checksum(frame);
        }
    }

    /// Makes the header of an answer, copied from the frame that it answers, its own: nothing is left to be done to it.
    pub fn renew(self, answer: &mut [u8]) {
        if self == Self::Virtio {
            answer[..VIRTIO_BYTES].fill(0);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_virtio_header_is_renewed() {
        for (framing, expected) in [(Framing::Bare, 7), (Framing::Ethernet, 7), (Framing::Virtio, 0)] {
            let mut answer = [7; 40];
            framing.renew(&mut answer);
            assert!(answer[..VIRTIO_BYTES].iter().all(|&byte| byte == expected), "{framing:?}");
            assert!(answer[VIRTIO_BYTES..].iter().all(|&byte| byte == 7));
        }
    }

    #[test]
    fn other_frames_are_finished_already() {
        let mut frame = [1; 40];
        Framing::Bare.finish(&mut frame);
        Framing::Ethernet.finish(&mut frame);
        assert_eq!(frame, [1; 40]);
    }
}
