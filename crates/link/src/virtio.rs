//! The header that a TUN device with `IFF_VNET_HDR` puts before a packet: `struct virtio_net_hdr`, and the checksums that
//! it leaves to whoever sends the packet on.

/// Bytes of the header.
pub const VIRTIO_BYTES: usize = 10;

/// Bit of `flags`: the checksum field has the sum of the pseudo-header alone, and the rest is to be added.
const NEEDS_CHECKSUM: u8 = 1;

/// The fields of the header, in the machine's own byte order.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Virtio {
    pub flags: u8,
    /// 0: one packet. Otherwise the packet stands for several, as [`super::ports`] has them cut.
    pub segmentation: u8,
    /// Bytes of all headers of the packet; a hint.
    pub header_bytes: u16,
    /// Bytes of payload of each packet that it stands for.
    pub segment_bytes: u16,
    /// Where the transport's header begins in the packet.
    pub checksum_start: u16,
    /// Where its checksum stands in that header.
    pub checksum_offset: u16,
}

impl Virtio {
    /// Reads the header of a frame that has one.
    pub fn read(frame: &[u8]) -> Self {
        let word = |at: usize| u16::from_ne_bytes([frame[at], frame[at + 1]]);
        Self {
            flags: frame[0],
            segmentation: frame[1],
            header_bytes: word(2),
            segment_bytes: word(4),
            checksum_start: word(6),
            checksum_offset: word(8),
        }
    }

    pub fn write(self, frame: &mut [u8]) {
        frame[0] = self.flags;
        frame[1] = self.segmentation;
        let words = [self.header_bytes, self.segment_bytes, self.checksum_start, self.checksum_offset];
        for (at, word) in (2..).step_by(2).zip(words) {
            frame[at..at + 2].copy_from_slice(&word.to_ne_bytes());
        }
    }

    /// Whether the packet's checksum is unfinished.
    pub fn needs_checksum(self) -> bool {
        self.flags & NEEDS_CHECKSUM != 0
    }

    /// The header of a single packet whose checksum is as unfinished as that of this one.
    pub fn of_segment(self) -> Self {
        Self {
            flags: NEEDS_CHECKSUM,
            checksum_start: self.checksum_start,
            checksum_offset: self.checksum_offset,
            ..Self::default()
        }
    }
}

/// Finishes the checksum of a packet, so that what changes in it later is found out by its receiver.
pub fn finish_checksum(frame: &mut [u8]) {
    let header = Virtio::read(frame);
    if !header.needs_checksum() {
        return;
    }
    let packet = &mut frame[VIRTIO_BYTES..];
    let start = usize::from(header.checksum_start);
    let at = start + usize::from(header.checksum_offset);
    if at + 2 <= packet.len() {
        let checksum = !folded(sum(&packet[start..]));
        // 0 would say that there is no checksum.
        let checksum = if checksum == 0 { u16::MAX } else { checksum };
        packet[at..at + 2].copy_from_slice(&checksum.to_be_bytes());
    }
    Virtio { flags: header.flags & !NEEDS_CHECKSUM, ..header }.write(frame);
}

/// The sum of the big-endian words of some bytes, not yet folded.
pub fn sum(bytes: &[u8]) -> u64 {
    let words = bytes.chunks_exact(2);
    let last = words.remainder().first().map_or(0, |&byte| u64::from(byte) << 8);
    words.map(|word| u64::from(u16::from_be_bytes([word[0], word[1]]))).sum::<u64>() + last
}

/// A sum in 16 bits, carries added (RFC 1071).
pub fn folded(mut sum: u64) -> u16 {
    while sum > u64::from(u16::MAX) {
        sum = (sum & 0xffff) + (sum >> 16);
    }
    sum as u16
}

#[cfg(test)]
mod tests {
    use etherparse::{Ipv4Header, PacketBuilder, UdpHeader};

    use super::*;

    #[test]
    fn the_fields_are_where_the_kernel_has_them() {
        let header = Virtio {
            flags: 1,
            segmentation: 4,
            header_bytes: 60,
            segment_bytes: 1_440,
            checksum_start: 40,
            checksum_offset: 16,
        };
        let mut bytes = [0; VIRTIO_BYTES];
        header.write(&mut bytes);
        assert_eq!(Virtio::read(&bytes), header);
        assert_eq!((bytes[0], bytes[1], u16::from_ne_bytes([bytes[6], bytes[7]])), (1, 4, 40));
    }

    #[test]
    fn a_finished_checksum_is_that_of_the_whole_packet() {
        for payload in [&b""[..], b"odd", b"even", &[0xff; 1_400]] {
            let mut frame = vec![0; VIRTIO_BYTES];
            let builder = PacketBuilder::ipv4([10, 8, 0, 1], [10, 8, 0, 2], 64).udp(40_000, 443);
            builder.write(&mut frame, payload).expect("it fits");
            let (ip, rest) = Ipv4Header::from_slice(&frame[VIRTIO_BYTES..]).expect("a header");
            let (udp, _) = UdpHeader::from_slice(rest).expect("a header");
            let expected = udp.calc_checksum_ipv4(&ip, payload).expect("it fits");
            let pseudo = sum(&frame[VIRTIO_BYTES + 12..VIRTIO_BYTES + 20]) + 17 + 8 + payload.len() as u64;
            let at = VIRTIO_BYTES + 26;
            frame[at..at + 2].copy_from_slice(&folded(pseudo).to_be_bytes());
            let header = Virtio { flags: 1, checksum_start: 20, checksum_offset: 6, ..Virtio::default() };
            header.write(&mut frame);
            finish_checksum(&mut frame);
            assert_eq!(u16::from_be_bytes([frame[at], frame[at + 1]]), expected);
            assert!(!Virtio::read(&frame).needs_checksum());
            let finished = frame.clone();
            finish_checksum(&mut frame);
            assert_eq!(frame, finished);
        }
    }

    #[test]
    fn a_checksum_beyond_the_packet_is_left_alone() {
        let mut frame = vec![0; VIRTIO_BYTES + 20];
        Virtio { flags: 1, checksum_start: 20, checksum_offset: 16, ..Virtio::default() }.write(&mut frame);
        let mut expected = frame.clone();
        expected[0] = 0;
        finish_checksum(&mut frame);
        assert_eq!(frame, expected);
    }
}
