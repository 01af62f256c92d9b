//! Changes packets as the stages decided, in place. All take the packet from its IP header on and leave alone what they
//! cannot read; the result shows whether the packet was changed.

use std::ops::Range;

use longlook_link_core::Edits;

use crate::headers;
use crate::record::{EDIT_CE, EDIT_CORRUPTED, EDIT_ECN, EDIT_PORT};

const NOT_CAPABLE: u8 = 0;
const CE: u8 = 3;
const IPV4_HEADER_BYTES: usize = 20;
const IPV6_HEADER_BYTES: usize = 40;
const UDP_HEADER_BYTES: usize = 8;

/// Which of a packet's two ports.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Side {
    Source,
    Destination,
}

/// Applies everything that was decided; `port` is the client's new port and which of the two that is. Returns the bits
/// of the record's `edits`.
pub fn apply(packet: &mut [u8], edits: &Edits, port: Option<(Side, u16)>) -> u8 {
    let mut done = 0;
    if port.is_some_and(|(side, port)| set_udp_port(packet, side, port)) {
        done |= EDIT_PORT;
    }
    match edits.ecn {
        // A queue may have marked it, before the middlebox or behind it: the codepoint has both.
        Some(ecn) if ip_version(packet) != 0 => {
            set_ecn(packet, ecn);
            done |= EDIT_ECN | if edits.mark_ce { EDIT_CE } else { 0 };
        }
        _ => done |= if edits.mark_ce && mark_ce(packet) { EDIT_CE } else { 0 },
    }
    // Last: a checksum that is updated afterwards stays wrong by as much, but the bit could be the one that is set.
    if edits.corrupt != 0 && flip_bit(packet, edits.corrupt) {
        done |= EDIT_CORRUPTED;
    }
    done
}

/// Sets "congestion experienced" in a packet of an ECN-capable sender.
pub fn mark_ce(packet: &mut [u8]) -> bool {
    !matches!(ecn_of(packet), None | Some(NOT_CAPABLE | CE)) && set_ecn(packet, CE)
}

fn ecn_of(packet: &[u8]) -> Option<u8> {
    match ip_version(packet) {
        4 => Some(packet[1] & CE),
        6 => Some(packet[1] >> 4 & CE),
        _ => None,
    }
}

/// Writes an ECN codepoint, and the header's checksum where there is one; false where the packet has it, or no header.
pub fn set_ecn(packet: &mut [u8], ecn: u8) -> bool {
    let changed = ecn_of(packet).is_some_and(|before| before != ecn);
    if changed && ip_version(packet) == 4 {
        let before = word(packet, 0);
        packet[1] = packet[1] & !CE | ecn;
        let checksum = updated(word(packet, 10), before, word(packet, 0));
        put(packet, 10, checksum);
    } else if changed {
        packet[1] = packet[1] & !(CE << 4) | ecn << 4;
    }
    changed
}

/// Flips one bit behind the IP header, each with the same chance if `random` has 64 random bits. Checksums stay as they are.
pub fn flip_bit(packet: &mut [u8], random: u64) -> bool {
    let Some(payload) = ip_payload(packet).filter(|payload| !payload.is_empty()) else {
        return false;
    };
    let bits = payload.len() as u128 * 8;
    let bit = ((u128::from(random) * bits) >> 64) as usize;
    packet[payload.start + bit / 8] ^= 0x80 >> (bit % 8);
    true
}

/// Changes a port of a UDP packet, also in a datagram's first fragment, and updates its checksum.
pub fn set_udp_port(packet: &mut [u8], side: Side, port: u16) -> bool {
    let headers = headers::parse(packet);
    let udp = headers.transport_offset;
    if !headers.is_udp() || udp == 0 || packet.len() < udp + UDP_HEADER_BYTES {
        return false;
    }
    let at = match side {
        Side::Source => udp,
        Side::Destination => udp + 2,
    };
    let (before, checksum) = (word(packet, at), word(packet, udp + 6));
    if before == port {
        return false;
    }
    put(packet, at, port);
    // 0 means that the sender computed none; where one comes out as 0, its other representation is sent.
    if checksum != 0 {
        let new = updated(checksum, before, port);
        put(packet, udp + 6, if new == 0 { u16::MAX } else { new });
    }
    true
}

/// 4 or 6 where that header is there as a whole.
fn ip_version(packet: &[u8]) -> u8 {
    match packet.first().map(|first| first >> 4) {
        Some(4) if packet.len() >= IPV4_HEADER_BYTES => 4,
        Some(6) if packet.len() >= IPV6_HEADER_BYTES => 6,
        _ => 0,
    }
}

/// The packet behind its IP header, extension headers included, without padding of the link.
fn ip_payload(packet: &[u8]) -> Option<Range<usize>> {
    let (header_bytes, total_bytes) = match ip_version(packet) {
        4 => (usize::from(packet[0] & 15) * 4, usize::from(word(packet, 2))),
        6 => (IPV6_HEADER_BYTES, IPV6_HEADER_BYTES + usize::from(word(packet, 4))),
        _ => return None,
    };
    let end = total_bytes.min(packet.len());
    (header_bytes >= IPV4_HEADER_BYTES && header_bytes <= end).then_some(header_bytes..end)
}

fn word(bytes: &[u8], at: usize) -> u16 {
    u16::from_be_bytes([bytes[at], bytes[at + 1]])
}

fn put(bytes: &mut [u8], at: usize, word: u16) {
    bytes[at..at + 2].copy_from_slice(&word.to_be_bytes());
}

/// A checksum after a word under it has changed (RFC 1624, equation 3).
fn updated(checksum: u16, before: u16, after: u16) -> u16 {
    let mut sum = u32::from(!checksum) + u32::from(!before) + u32::from(after);
    sum = (sum & 0xffff) + (sum >> 16);
    sum = (sum & 0xffff) + (sum >> 16);
    !(sum as u16)
}

#[cfg(test)]
mod tests {
    use etherparse::{IpFragOffset, Ipv4Header, Ipv6Header, PacketBuilder, UdpHeader};
    use proptest::prelude::*;

    use super::*;

    fn udp4(tos: u8, ports: (u16, u16), payload: &[u8]) -> Vec<u8> {
        let mut packet = Vec::new();
        PacketBuilder::ipv4([10, 8, 0, 1], [10, 8, 0, 2], 64)
            .udp(ports.0, ports.1)
            .write(&mut packet, payload)
            .expect("it fits");
        let (mut header, _) = Ipv4Header::from_slice(&packet).expect("it was just written");
        header.dscp = (tos >> 2).try_into().expect("6 bits");
        header.ecn = (tos & 3).try_into().expect("2 bits");
        header.header_checksum = header.calc_header_checksum();
        packet[..20].copy_from_slice(&header.to_bytes());
        packet
    }

    fn udp6(ports: (u16, u16), payload: &[u8]) -> Vec<u8> {
        let mut packet = Vec::new();
        let builder = PacketBuilder::ipv6([1; 16], [2; 16], 64).udp(ports.0, ports.1);
        builder.write(&mut packet, payload).expect("it fits");
        packet
    }

    /// The checksum that belongs into the packet's UDP header.
    fn full_checksum(packet: &[u8]) -> u16 {
        if packet[0] >> 4 == 4 {
            let (ip, rest) = Ipv4Header::from_slice(packet).expect("a header");
            let (udp, payload) = UdpHeader::from_slice(rest).expect("a header");
            udp.calc_checksum_ipv4(&ip, payload).expect("it fits")
        } else {
            let (ip, rest) = Ipv6Header::from_slice(packet).expect("a header");
            let (udp, payload) = UdpHeader::from_slice(rest).expect("a header");
            udp.calc_checksum_ipv6(&ip, payload).expect("it fits")
        }
    }

    fn differing_bits(left: &[u8], right: &[u8]) -> u32 {
        left.iter().zip(right).map(|(one, other)| (one ^ other).count_ones()).sum()
    }

    #[test]
    fn only_capable_packets_are_marked() {
        for (ecn, expected) in [(0, false), (1, true), (2, true), (3, false)] {
            let mut packet = udp4(ecn, (1, 2), b"hello");
            assert_eq!(mark_ce(&mut packet), expected);
            assert_eq!(headers::parse(&packet).ecn, if ecn == 0 { 0 } else { 3 });
            let mut packet = udp6((1, 2), b"hello");
            packet[0] |= 0x0a;
            packet[1] = 0xbf & (ecn << 4 | 0xcf);
            let before = packet.clone();
            assert_eq!(mark_ce(&mut packet), expected);
            assert_eq!(headers::parse(&packet).ecn, if ecn == 0 { 0 } else { 3 });
            assert_eq!(packet[1] & 0xcf, before[1] & 0xcf);
        }
    }

    #[test]
    fn a_middlebox_writes_any_codepoint_and_a_mark_behind_it_counts() {
        for before in 0..4 {
            for after in 0..4 {
                let edits = Edits { ecn: Some(after), mark_ce: after == CE, ..Edits::default() };
                let expected = EDIT_ECN | if after == CE { EDIT_CE } else { 0 };
                let mut packet = udp4(before, (1, 2), b"hello");
                assert_eq!(apply(&mut packet, &edits, None), expected);
                let (header, _) = Ipv4Header::from_slice(&packet).expect("a header");
                assert_eq!((header.ecn.value(), header.header_checksum), (after, header.calc_header_checksum()));
                let mut packet = udp6((1, 2), b"hello");
                packet[1] |= before << 4;
                apply(&mut packet, &edits, None);
                assert_eq!(headers::parse(&packet).ecn, after);
            }
        }
        assert_eq!(apply(&mut [0; 30], &Edits { ecn: Some(1), mark_ce: true, ..Edits::default() }, None), 0);
    }

    #[test]
    fn a_datagram_without_a_checksum_keeps_none() {
        let mut packet = udp4(0, (1, 2), b"hello");
        packet[26..28].fill(0);
        assert!(set_udp_port(&mut packet, Side::Source, 5_000));
        assert_eq!((word(&packet, 20), word(&packet, 26)), (5_000, 0));
    }

    #[test]
    fn a_checksum_that_comes_out_as_zero_is_sent_as_ones() {
        let mut packet = udp4(0, (1, 2), b"hello");
        let port = 1_u16.wrapping_add(word(&packet, 26));
        assert!(set_udp_port(&mut packet, Side::Source, port));
        assert_eq!(word(&packet, 26), u16::MAX);
        assert_eq!(full_checksum(&packet), u16::MAX);
        assert!(set_udp_port(&mut packet, Side::Source, 9));
        assert_eq!(word(&packet, 26), full_checksum(&packet));
    }

    #[test]
    fn the_first_fragment_has_a_port_to_change_and_the_others_have_none() {
        for (offset, expected) in [(0, true), (100, false)] {
            let mut packet = udp4(0, (1, 2), b"hello");
            let (mut header, _) = Ipv4Header::from_slice(&packet).expect("a header");
            header.more_fragments = true;
            header.fragment_offset = IpFragOffset::try_new(offset).expect("13 bits");
            packet[..20].copy_from_slice(&header.to_bytes());
            let before = packet.clone();
            assert_eq!(set_udp_port(&mut packet, Side::Destination, 9), expected);
            assert_eq!(packet != before, expected);
        }
    }

    #[test]
    fn what_is_not_udp_has_no_port_to_change() {
        let mut packet = Vec::new();
        let builder = PacketBuilder::ipv4([1; 4], [2; 4], 64).tcp(1, 2, 3, 4);
        builder.write(&mut packet, b"hello").expect("it fits");
        let before = packet.clone();
        assert!(!set_udp_port(&mut packet, Side::Source, 9));
        assert_eq!(packet, before);
    }

    #[test]
    fn padding_of_the_link_is_never_the_place_of_the_flipped_bit() {
        let mut packet = udp4(0, (1, 2), b"");
        packet.extend_from_slice(&[0; 18]);
        for random in [1, u64::MAX / 2, u64::MAX] {
            let mut changed = packet.clone();
            assert!(flip_bit(&mut changed, random));
            assert_eq!(differing_bits(&packet[20..28], &changed[20..28]), 1);
        }
    }

    #[test]
    fn a_packet_without_payload_has_no_bit_to_flip() {
        let mut packet = udp4(0, (1, 2), b"")[..20].to_vec();
        packet[3] = 20;
        assert!(!flip_bit(&mut packet, 7));
        assert!(!flip_bit(&mut [], 7));
    }

    #[test]
    fn all_edits_together() {
        let mut packet = udp4(2, (40_000, 443), &[0; 1000]);
        let edits = Edits { mark_ce: true, corrupt: u64::MAX, ..Edits::default() };
        assert_eq!(apply(&mut packet, &edits, Some((Side::Source, 61_000))), EDIT_CE | EDIT_CORRUPTED | EDIT_PORT);
        let headers = headers::parse(&packet);
        assert_eq!((headers.ecn, headers.source_port, packet.last()), (3, 61_000, Some(&1)));
        assert_eq!(apply(&mut packet, &Edits::default(), None), 0);
    }

    proptest! {
        #[test]
        fn marking_mends_the_header_checksum(tos in any::<u8>(), ports in any::<(u16, u16)>()) {
            let mut packet = udp4(tos, ports, b"hello");
            mark_ce(&mut packet);
            let (header, _) = Ipv4Header::from_slice(&packet).expect("a header");
            prop_assert_eq!(header.header_checksum, header.calc_header_checksum());
            prop_assert_eq!(header.dscp.value(), tos >> 2);
        }

        #[test]
        fn a_changed_port_mends_the_checksum(
            ports in any::<(u16, u16)>(),
            port in any::<u16>(),
            source in any::<bool>(),
            version6 in any::<bool>(),
            payload in prop::collection::vec(any::<u8>(), 0..50),
        ) {
            let mut packet = if version6 { udp6(ports, &payload) } else { udp4(0, ports, &payload) };
            let side = if source { Side::Source } else { Side::Destination };
            let before = if source { ports.0 } else { ports.1 };
            let read = headers::parse(&packet).transport_offset != 0;
            prop_assert_eq!(set_udp_port(&mut packet, side, port), read && port != before);
            if read {
                let expected = if source { (port, ports.1) } else { (ports.0, port) };
                let headers = headers::parse(&packet);
                prop_assert_eq!((headers.source_port, headers.destination_port), expected);
                let udp = packet.len() - payload.len() - UDP_HEADER_BYTES;
                prop_assert_eq!(word(&packet, udp + 6), full_checksum(&packet));
            }
        }

        #[test]
        fn one_bit_behind_the_header_is_flipped(random in 1_u64.., version6 in any::<bool>()) {
            let before = if version6 { udp6((1, 2), b"hello") } else { udp4(0, (1, 2), b"hello") };
            let header_bytes = before.len() - 13;
            let mut packet = before.clone();
            prop_assert!(flip_bit(&mut packet, random));
            prop_assert_eq!(differing_bits(&packet, &before), 1);
            prop_assert_eq!(&packet[..header_bytes], &before[..header_bytes]);
        }

        #[test]
        fn any_bytes_are_edited_without_a_crash(
            bytes in prop::collection::vec(any::<u8>(), 0..100),
            first in prop::sample::select(vec![0x45_u8, 0x4f, 0x60, 0x00]),
            random in 1..u64::MAX,
        ) {
            let mut bytes = bytes;
            if let Some(byte) = bytes.first_mut() {
                *byte = first;
            }
            let edits = Edits { mark_ce: true, corrupt: random, ..Edits::default() };
            apply(&mut bytes, &edits, Some((Side::Source, 5)));
            apply(&mut bytes, &edits, Some((Side::Destination, 5)));
        }
    }
}
