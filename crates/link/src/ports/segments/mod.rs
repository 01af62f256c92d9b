//! Super-packets: a packet of up to 64 KB that stands for several of one flow, as a network card with segmentation
//! offload takes it from the kernel (TSO, USO) and gives it to the kernel (GRO).
//!
//! A super-packet is cut into the packets that a card would send, and packets are gathered again into the super-packet
//! that, cut, would give exactly these bytes. Both use [`Shape::stamp`].

mod batch;
mod cut;
#[cfg(test)]
mod tests;

pub use batch::Batch;
pub use cut::Cut;

use crate::virtio::{VIRTIO_BYTES, Virtio, folded, sum};

/// The most that a super-packet may have, as the length in an IP header limits it.
pub const SUPER_BYTES: usize = VIRTIO_BYTES + u16::MAX as usize;

const TCP4: u8 = 1;
const TCP6: u8 = 4;
const UDP: u8 = 5;

const FIN: u8 = 1;
const PSH: u8 = 8;
const ACK: u8 = 16;
const ECE: u8 = 64;
const CWR: u8 = 128;

const UDP_PROTOCOL: u8 = 17;
const TCP_PROTOCOL: u8 = 6;
const TCP_CHECKSUM: u16 = 16;
const UDP_CHECKSUM: u16 = 6;
const UDP_HEADER_BYTES: usize = 8;
const LEAST_TCP_HEADER_BYTES: usize = 20;
const LEAST_IPV4_HEADER_BYTES: usize = 20;
const IPV6_HEADER_BYTES: usize = 40;
/// Where TCP's flags stand in its header.
const TCP_FLAGS: usize = 13;

/// The headers of a super-packet, or of a packet that can be gathered. Positions are those in the frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Shape {
    version: u8,
    tcp: bool,
    /// Where the transport's header begins.
    transport: usize,
    /// Where the payload begins.
    payload: usize,
}

impl Shape {
    /// Reads a frame whose checksum is unfinished; None where it is neither TCP nor UDP, or cut off.
    fn of(frame: &[u8]) -> Option<Self> {
        let header = Virtio::read(frame.get(..VIRTIO_BYTES)?);
        let transport = VIRTIO_BYTES + usize::from(header.checksum_start);
        let (version, least) = match frame.get(VIRTIO_BYTES)? >> 4 {
            4 => (4, LEAST_IPV4_HEADER_BYTES),
            6 => (6, IPV6_HEADER_BYTES),
            _ => return None,
        };
        if !header.needs_checksum() || transport < VIRTIO_BYTES + least {
            return None;
        }
        let (tcp, bytes) = match header.checksum_offset {
            TCP_CHECKSUM => (true, usize::from(frame.get(transport + TCP_FLAGS - 1)? >> 4) * 4),
            UDP_CHECKSUM => (false, UDP_HEADER_BYTES),
            _ => return None,
        };
        let payload = transport + bytes;
        let whole = payload <= frame.len() && (!tcp || bytes >= LEAST_TCP_HEADER_BYTES);
        whole.then_some(Self { version, tcp, transport, payload })
    }

    /// Writes the headers of the packet number `index` of those that `first` begins, with `bytes` of payload of which
    /// those before it have `before` together.
    fn stamp(self, headers: &mut [u8], first: &[u8], index: usize, before: usize, bytes: usize) {
        headers.copy_from_slice(&first[..self.payload]);
        Virtio::read(first).of_segment().write(headers);
        if self.tcp {
            let at = self.transport + 4;
            let sequence = long(first, at).wrapping_add(before as u32);
            headers[at..at + 4].copy_from_slice(&sequence.to_be_bytes());
        }
        if self.version == 4 {
            put(headers, VIRTIO_BYTES + 4, word(first, VIRTIO_BYTES + 4).wrapping_add(index as u16));
        }
        self.set_length(headers, bytes);
    }

    /// Sets every length for so many bytes of payload, and the checksums over the headers.
    fn set_length(self, headers: &mut [u8], bytes: usize) {
        let transport_bytes = (self.payload - self.transport + bytes) as u16;
        let ip_bytes = (self.payload - VIRTIO_BYTES + bytes) as u16;
        let addresses = if self.version == 4 {
            put(headers, VIRTIO_BYTES + 2, ip_bytes);
            put(headers, VIRTIO_BYTES + 10, 0);
            let checksum = !folded(sum(&headers[VIRTIO_BYTES..self.transport]));
            put(headers, VIRTIO_BYTES + 10, checksum);
            VIRTIO_BYTES + 12..VIRTIO_BYTES + 20
        } else {
            put(headers, VIRTIO_BYTES + 4, ip_bytes - IPV6_HEADER_BYTES as u16);
            VIRTIO_BYTES + 8..VIRTIO_BYTES + 40
        };
        let (protocol, checksum) = if self.tcp { (TCP_PROTOCOL, TCP_CHECKSUM) } else { (UDP_PROTOCOL, UDP_CHECKSUM) };
        if !self.tcp {
            put(headers, self.transport + 4, transport_bytes);
        }
        let pseudo = sum(&headers[addresses]) + u64::from(protocol) + u64::from(transport_bytes);
        put(headers, self.transport + usize::from(checksum), folded(pseudo));
    }

    /// Whether other packets may follow one with these headers in a super-packet: no fragment, no extension header, and
    /// no flag of TCP that concerns this packet alone.
    fn can_be_followed(self, frame: &[u8]) -> bool {
        let protocol = if self.tcp { TCP_PROTOCOL } else { UDP_PROTOCOL };
        let plain = if self.version == 4 {
            let fragment = word(frame, VIRTIO_BYTES + 6) & 0x3fff;
            fragment == 0 && frame[VIRTIO_BYTES + 9] == protocol
        } else {
            self.transport == VIRTIO_BYTES + IPV6_HEADER_BYTES && frame[VIRTIO_BYTES + 6] == protocol
        };
        plain && (!self.tcp || frame[self.transport + TCP_FLAGS] & !ECE == ACK)
    }

    fn segmentation(self) -> u8 {
        match (self.tcp, self.version) {
            (false, _) => UDP,
            (true, 4) => TCP4,
            (true, _) => TCP6,
        }
    }
}

fn word(bytes: &[u8], at: usize) -> u16 {
    u16::from_be_bytes([bytes[at], bytes[at + 1]])
}

fn long(bytes: &[u8], at: usize) -> u32 {
    u32::from_be_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]])
}

fn put(bytes: &mut [u8], at: usize, word: u16) {
    bytes[at..at + 2].copy_from_slice(&word.to_be_bytes());
}
