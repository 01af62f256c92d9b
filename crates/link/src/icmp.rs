//! Notifies the sender of a packet that it was too big: `ICMPv4` "fragmentation needed" (RFC 1191) or `ICMPv6` "packet
//! too big" (RFC 4443).
//!
//! Over IPv4 only a packet with the don't-fragment bit is answered: for another, the sender has asked for no answer. As
//! the router has no address of its own, the answer comes from the address that the packet was for.

use etherparse::{Icmpv4Type, Icmpv6Type, PacketBuilder, icmpv4};

use crate::headers::{self, Headers};

/// Routers quote as much as keeps the answer within these sizes.
const MAX_IPV4_BYTES: usize = 576;
const MAX_IPV6_BYTES: usize = 1280;
const ICMP_HEADER_BYTES: usize = 8;
const HOPS: u8 = 64;
const ADDRESS_BYTES: usize = 6;

/// The frame that answers `frame`, whose IP packet begins behind `link_header_bytes`: 14 of Ethernet or none.
/// None where no answer may be given (RFC 1122, 3.2.2): to later fragments, ICMP errors, and packets from or to no
/// single host.
pub fn too_big(frame: &[u8], link_header_bytes: usize, mtu_bytes: u32) -> Option<Vec<u8>> {
    let (link, packet) = frame.split_at_checked(link_header_bytes)?;
    let headers = headers::parse(packet);
    if !headers.dont_fragment || headers.later_fragment || is_icmp_error(&headers, packet) || !is_unicast(&headers) {
        return None;
    }
    let mut answer = link.to_vec();
    if link.len() >= 2 * ADDRESS_BYTES {
        answer[..ADDRESS_BYTES].copy_from_slice(&link[ADDRESS_BYTES..2 * ADDRESS_BYTES]);
        answer[ADDRESS_BYTES..2 * ADDRESS_BYTES].copy_from_slice(&link[..ADDRESS_BYTES]);
    }
    let quote = |room: usize| &packet[..packet.len().min(room - ICMP_HEADER_BYTES)];
    let written = if headers.ip_version == 4 {
        let next_hop_mtu = u16::try_from(mtu_bytes).unwrap_or(u16::MAX);
        let message = icmpv4::DestUnreachableHeader::FragmentationNeeded { next_hop_mtu };
        PacketBuilder::ipv4(first4(headers.destination), first4(headers.source), HOPS)
            .icmpv4(Icmpv4Type::DestinationUnreachable(message))
            .write(&mut answer, quote(MAX_IPV4_BYTES - 20))
    } else {
        PacketBuilder::ipv6(headers.destination, headers.source, HOPS)
            .icmpv6(Icmpv6Type::PacketTooBig { mtu: mtu_bytes })
            .write(&mut answer, quote(MAX_IPV6_BYTES - 40))
    };
    written.ok().map(|()| answer)
}

fn is_icmp_error(headers: &Headers, packet: &[u8]) -> bool {
    // An ICMP header has no offset in `headers`; behind extension headers an error counts as one all the same.
    let first = |at: usize| packet.get(at).copied().unwrap_or_default();
    match headers.ip_version {
        _ if !headers.is_icmp() => false,
        4 => [3, 4, 5, 11, 12].contains(&first(usize::from(packet[0] & 15) * 4)),
        _ => packet[6] != headers.ip_protocol || first(40) < 128,
    }
}

/// Whether both ends are single hosts.
fn is_unicast(headers: &Headers) -> bool {
    let single = |address: &[u8; 16]| match headers.ip_version {
        4 => address[0] != 0 && address[0] < 224,
        6 => address[0] != 0xff && address != &[0; 16],
        _ => false,
    };
    single(&headers.source) && single(&headers.destination)
}

fn first4(address: [u8; 16]) -> [u8; 4] {
    [address[0], address[1], address[2], address[3]]
}

#[cfg(test)]
mod tests {
    use etherparse::{Icmpv4Slice, Icmpv6Slice, Ipv4Header, LaxNetSlice, LaxSlicedPacket};
    use proptest::prelude::*;

    use super::*;

    const ETHERNET: [u8; 14] = [1, 2, 3, 4, 5, 6, 11, 12, 13, 14, 15, 16, 8, 0];

    fn udp4(payload_bytes: usize) -> Vec<u8> {
        let mut packet = Vec::new();
        let builder = PacketBuilder::ipv4([10, 8, 0, 1], [10, 8, 0, 2], 3).udp(40_000, 443);
        builder.write(&mut packet, &vec![7; payload_bytes]).expect("it fits");
        packet
    }

    fn udp6(payload_bytes: usize) -> Vec<u8> {
        let mut packet = Vec::new();
        let builder = PacketBuilder::ipv6([0x20; 16], [0x21; 16], 3).udp(40_000, 443);
        builder.write(&mut packet, &vec![7; payload_bytes]).expect("it fits");
        packet
    }

    fn payload(packet: &[u8]) -> Vec<u8> {
        let sliced = LaxSlicedPacket::from_ip(packet).expect("an IP packet");
        sliced.ip_payload().expect("a payload").payload.to_vec()
    }

    #[test]
    fn ipv4_with_ethernet() {
        let packet = udp4(1400);
        let answer = too_big(&[&ETHERNET[..], &packet].concat(), 14, 1300).expect("it has the bit");
        assert_eq!(answer[..14], [11, 12, 13, 14, 15, 16, 1, 2, 3, 4, 5, 6, 8, 0]);
        assert_eq!(answer.len(), 14 + MAX_IPV4_BYTES);
        let (header, _) = Ipv4Header::from_slice(&answer[14..]).expect("a header");
        assert_eq!((header.source, header.destination), ([10, 8, 0, 2], [10, 8, 0, 1]));
        assert_eq!(header.header_checksum, header.calc_header_checksum());
        let bytes = payload(&answer[14..]);
        let icmp = Icmpv4Slice::from_slice(&bytes).expect("ICMP");
        assert_eq!((icmp.type_u8(), icmp.code_u8(), icmp.bytes5to8()), (3, 4, [0, 0, 0x05, 0x14]));
        assert!(icmp.header().checksum == icmp.icmp_type().calc_checksum(icmp.payload()));
        assert_eq!(icmp.payload(), &packet[..MAX_IPV4_BYTES - 28]);
    }

    #[test]
    fn ipv6_without_a_link_header() {
        let packet = udp6(1400);
        let answer = too_big(&packet, 0, 1290).expect("IPv6 is always answered");
        assert_eq!(answer.len(), MAX_IPV6_BYTES);
        let sliced = LaxSlicedPacket::from_ip(&answer).expect("an IP packet");
        let Some(LaxNetSlice::Ipv6(ip)) = sliced.net else { panic!("it is IPv6") };
        assert_eq!((ip.header().source(), ip.header().destination()), ([0x21; 16], [0x20; 16]));
        let bytes = payload(&answer);
        let icmp = Icmpv6Slice::from_slice(&bytes).expect("ICMP");
        assert_eq!((icmp.type_u8(), icmp.code_u8(), icmp.bytes5to8()), (2, 0, 1290_u32.to_be_bytes()));
        assert!(icmp.is_checksum_valid([0x21; 16], [0x20; 16]));
        assert_eq!(icmp.payload(), &packet[..MAX_IPV6_BYTES - 48]);
    }

    #[test]
    fn a_short_packet_is_quoted_as_a_whole() {
        let answer = too_big(&udp4(10), 0, 100_000).expect("it has the bit");
        assert_eq!(answer.len(), 28 + 38);
        assert_eq!(answer[26..28], [0xff, 0xff]);
    }

    #[test]
    fn what_gets_no_answer() {
        let changed = |at: usize, byte: u8| {
            let mut packet = udp4(1400);
            packet[at] = byte;
            packet
        };
        assert!(too_big(&changed(6, 0), 0, 1300).is_none(), "without the don't-fragment bit");
        assert!(too_big(&changed(7, 1), 0, 1300).is_none(), "a later fragment");
        assert!(too_big(&changed(16, 224), 0, 1300).is_none(), "to many");
        assert!(too_big(&changed(12, 0), 0, 1300).is_none(), "from no address");
        assert!(too_big(&[0; 8], 14, 1300).is_none(), "no frame");
        assert!(too_big(&[0; 80], 14, 1300).is_none(), "no IP");
        for mut packet in [udp4(1400), udp6(1400)] {
            let answer = too_big(&packet, 0, 1300).expect("it is UDP");
            assert!(too_big(&answer, 0, 500).is_none(), "an ICMP error");
            packet.truncate(60);
            assert!(too_big(&packet, 0, 500).is_some(), "as much as there is");
        }
    }

    #[test]
    fn a_large_ping_is_answered() {
        let mut ping = Vec::new();
        let builder = PacketBuilder::ipv4([10, 8, 0, 1], [10, 8, 0, 2], 3).icmpv4_echo_request(1, 2);
        builder.write(&mut ping, &[0; 1400]).expect("it fits");
        assert!(too_big(&ping, 0, 1300).is_some());
        let mut ping = Vec::new();
        let builder = PacketBuilder::ipv6([0x20; 16], [0x21; 16], 3).icmpv6_echo_request(1, 2);
        builder.write(&mut ping, &[0; 1400]).expect("it fits");
        assert!(too_big(&ping, 0, 1300).is_some());
    }

    proptest! {
        #[test]
        fn any_bytes_are_answered_without_a_crash(
            bytes in prop::collection::vec(any::<u8>(), 0..100),
            first in prop::sample::select(vec![0x45_u8, 0x4f, 0x60, 0x00]),
            protocol in prop::sample::select(vec![1_u8, 17, 58]),
            link_header_bytes in 0..20_usize,
        ) {
            let mut bytes = bytes;
            for (at, value) in [(0, first), (6, protocol | 0x40), (9, protocol)] {
                if let Some(byte) = bytes.get_mut(link_header_bytes + at) {
                    *byte = value;
                }
            }
            too_big(&bytes, link_header_bytes, 1300);
        }
    }
}
