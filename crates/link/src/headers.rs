//! The fields of a packet's IP, TCP and UDP headers that the router needs.

use etherparse::{
    IpNumber, LaxIpPayloadSlice, LaxNetSlice, LaxSlicedPacket, TcpSlice, TransportSlice, UdpSlice, ip_number,
};

use crate::quic::{self, Quic};

/// Fields of the headers; 0 where the packet has none, or where it is cut off before them.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Headers {
    /// 4, 6, or 0 where there is no IP header that can be read.
    pub ip_version: u8,
    /// The protocol behind any extension headers.
    pub ip_protocol: u8,
    /// Codepoint: 0 not capable, 1 ECT(1), 2 ECT(0), 3 congestion experienced.
    pub ecn: u8,
    /// Routers must not fragment it: IPv4's bit, and always with IPv6.
    pub dont_fragment: bool,
    /// A fragment other than the first: no transport header.
    pub later_fragment: bool,
    /// IPv4 as the first 4 bytes.
    pub source: [u8; 16],
    pub destination: [u8; 16],
    pub source_port: u16,
    pub destination_port: u16,
    pub tcp_sequence: u32,
    pub tcp_acknowledgement: u32,
    pub tcp_flags: u8,
    pub payload_bytes: u16,
    pub quic: Quic,
    /// Where TCP's or UDP's header begins in the packet; 0 where there is none that can be read.
    pub transport_offset: usize,
}

/// Reads an IP packet; whatever cannot be read stays 0.
pub fn parse(packet: &[u8]) -> Headers {
    let mut headers = Headers::default();
    let Ok(sliced) = LaxSlicedPacket::from_ip(packet) else {
        return headers;
    };
    let payload = match &sliced.net {
        Some(LaxNetSlice::Ipv4(ip)) => {
            let header = ip.header();
            headers.ip_version = 4;
            headers.ecn = header.ecn().value();
            headers.dont_fragment = header.dont_fragment();
            headers.later_fragment = header.fragments_offset().value() != 0;
            headers.source[..4].copy_from_slice(&header.source());
            headers.destination[..4].copy_from_slice(&header.destination());
            ip.payload()
        }
        Some(LaxNetSlice::Ipv6(ip)) => {
            let header = ip.header();
            headers.ip_version = 6;
            headers.ecn = header.ecn().value();
            headers.dont_fragment = true;
            headers.later_fragment = is_later_fragment(header.next_header(), ip.extensions().slice());
            headers.source = header.source();
            headers.destination = header.destination();
            ip.payload()
        }
        _ => return headers,
    };
    headers.ip_protocol = payload.ip_number.0;
    match &sliced.transport {
        Some(TransportSlice::Tcp(tcp)) => headers.read_tcp(tcp),
        Some(TransportSlice::Udp(udp)) => headers.read_udp(udp),
        _ if payload.fragmented && !headers.later_fragment => headers.read_first_fragment(payload),
        _ => {}
    }
    if headers.payload_bytes > 0 || headers.source_port > 0 || headers.destination_port > 0 {
        headers.transport_offset = payload.payload.as_ptr() as usize - packet.as_ptr() as usize;
    }
    headers
}

/// Whether IPv6's extension headers mark the packet as a fragment other than the first.
///
/// etherparse's own iterator over them reads beyond its slice where the last one is cut off.
fn is_later_fragment(first: IpNumber, extensions: &[u8]) -> bool {
    let (mut kind, mut rest) = (first, extensions);
    while let &[next, length, high, low, ..] = rest {
        let bytes = match kind {
            IpNumber::IPV6_FRAGMENTATION_HEADER if u16::from_be_bytes([high, low]) >> 3 != 0 => return true,
            IpNumber::IPV6_FRAGMENTATION_HEADER => 8,
            IpNumber::AUTHENTICATION_HEADER => (usize::from(length) + 2) * 4,
            _ => (usize::from(length) + 1) * 8,
        };
        kind = IpNumber(next);
        rest = rest.get(bytes..).unwrap_or_default();
    }
    false
}

impl Headers {
    fn read_tcp(&mut self, tcp: &TcpSlice<'_>) {
        self.source_port = tcp.source_port();
        self.destination_port = tcp.destination_port();
        self.tcp_sequence = tcp.sequence_number();
        self.tcp_acknowledgement = tcp.acknowledgment_number();
        self.tcp_flags = tcp.slice()[13];
        self.payload_bytes = tcp.payload().len() as u16;
    }

    fn read_udp(&mut self, udp: &UdpSlice<'_>) {
        self.source_port = udp.source_port();
        self.destination_port = udp.destination_port();
        self.payload_bytes = udp.payload().len() as u16;
        self.quic = quic::parse(udp.payload());
    }

    /// etherparse leaves fragments alone, but the first has all of the transport's header.
    fn read_first_fragment(&mut self, payload: &LaxIpPayloadSlice<'_>) {
        match payload.ip_number {
            IpNumber::TCP => {
                if let Ok(tcp) = TcpSlice::from_slice(payload.payload) {
                    self.read_tcp(&tcp);
                }
            }
            IpNumber::UDP => {
                if let Ok(udp) = UdpSlice::from_slice_lax(payload.payload) {
                    self.read_udp(&udp);
                }
            }
            _ => {}
        }
    }

    /// Whether it is TCP.
    pub fn is_tcp(&self) -> bool {
        self.ip_protocol == ip_number::TCP.0
    }

    /// Whether it is UDP.
    pub fn is_udp(&self) -> bool {
        self.ip_protocol == ip_number::UDP.0
    }

    /// Whether it is ICMP of either version.
    pub fn is_icmp(&self) -> bool {
        [ip_number::ICMP.0, ip_number::IPV6_ICMP.0].contains(&self.ip_protocol)
    }

    /// A number for the packet's flow (protocol, addresses, ports), the same in both directions and in every run.
    /// 0 where the headers cannot be read. Fragments other than the first have no ports and are a flow of their own.
    pub fn flow(&self) -> u64 {
        if self.ip_version == 0 {
            return 0;
        }
        let source = (self.source, self.source_port);
        let destination = (self.destination, self.destination_port);
        let mut hash = mixed(u64::from(self.ip_version) << 8 | u64::from(self.ip_protocol));
        for (address, port) in [source.min(destination), source.max(destination)] {
            let (high, low) = address.split_at(8);
            for word in [quic::leading(high), quic::leading(low), u64::from(port)] {
                hash = mixed(hash ^ word);
            }
        }
        hash
    }
}

/// The finaliser of `SplitMix64`: each bit of the result depends on every bit given.
fn mixed(word: u64) -> u64 {
    let mut word = word.wrapping_add(0x9e37_79b9_7f4a_7c15);
    word = (word ^ (word >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    word = (word ^ (word >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    word ^ (word >> 31)
}

#[cfg(test)]
mod tests {
    use etherparse::{Ipv6FlowLabel, PacketBuilder};
    use proptest::prelude::*;

    use super::*;

    fn tcp4(payload: &[u8]) -> Vec<u8> {
        let mut bytes = Vec::new();
        PacketBuilder::ipv4([10, 8, 0, 1], [10, 8, 0, 2], 64)
            .tcp(40_000, 443, 0x0102_0304, 1000)
            .psh()
            .ack(7)
            .write(&mut bytes, payload)
            .expect("a vector takes everything");
        bytes
    }

    fn udp6(payload: &[u8]) -> Vec<u8> {
        let mut bytes = Vec::new();
        PacketBuilder::ipv6([1; 16], [2; 16], 64).udp(50_000, 443).write(&mut bytes, payload).expect("it fits");
        bytes
    }

    /// UDP over IPv6 behind options for every hop, a fragment header and options for the destination.
    fn udp6_fragment(offset: u16) -> Vec<u8> {
        let udp = udp6(b"hello").split_off(40);
        let mut bytes = vec![0x60, 0, 0, 0, 0, (8 + 8 + 8 + udp.len()) as u8, 0, 64];
        bytes.extend_from_slice(&[1; 16]);
        bytes.extend_from_slice(&[2; 16]);
        bytes.extend_from_slice(&[44, 0, 1, 4, 0, 0, 0, 0]);
        bytes.extend_from_slice(&[60, 0]);
        bytes.extend_from_slice(&(offset << 3 | 1).to_be_bytes());
        bytes.extend_from_slice(&[0, 0, 0, 9]);
        bytes.extend_from_slice(&[17, 0, 1, 4, 0, 0, 0, 0]);
        bytes.extend_from_slice(&udp);
        bytes
    }

    fn udp4_fragment(offset: u16) -> Vec<u8> {
        let mut packet = vec![0x45, 2, 0, 0, 0, 1, 0, 0, 64, 17, 0, 0, 10, 8, 0, 1, 10, 8, 0, 2];
        packet[6..8].copy_from_slice(&(0x2000 | offset).to_be_bytes());
        packet.extend_from_slice(&udp6(b"hello")[40..]);
        packet[3] = packet.len() as u8;
        packet
    }

    fn address4(last: u8) -> [u8; 16] {
        let mut address = [0; 16];
        address[..4].copy_from_slice(&[10, 8, 0, last]);
        address
    }

    #[test]
    fn tcp_over_ipv4() {
        let expected = Headers {
            ip_version: 4,
            ip_protocol: 6,
            ecn: 0,
            dont_fragment: true,
            later_fragment: false,
            source: address4(1),
            destination: address4(2),
            source_port: 40_000,
            destination_port: 443,
            tcp_sequence: 0x0102_0304,
            tcp_acknowledgement: 7,
            tcp_flags: 0x18,
            payload_bytes: 5,
            quic: Quic::default(),
            transport_offset: 20,
        };
        assert_eq!(parse(&tcp4(b"hello")), expected);
    }

    #[test]
    fn padding_of_the_link_layer_is_no_payload() {
        let mut bytes = tcp4(b"");
        bytes.extend_from_slice(&[0; 6]);
        assert_eq!(parse(&bytes).payload_bytes, 0);
    }

    #[test]
    fn udp_over_ipv6() {
        let mut payload = [0; 1200];
        payload[..7].copy_from_slice(&[0xc0, 0, 0, 0, 1, 1, 9]);
        let headers = parse(&udp6(&payload));
        assert_eq!((headers.ip_version, headers.ip_protocol, headers.source_port), (6, 17, 50_000));
        assert_eq!((headers.payload_bytes, headers.transport_offset), (1200, 40));
        assert_eq!((headers.source, headers.destination), ([1; 16], [2; 16]));
        assert_eq!((headers.tcp_sequence, headers.tcp_acknowledgement, headers.tcp_flags), (0, 0, 0));
        assert_eq!(
            headers.quic,
            Quic { form: quic::INITIAL, connection_id: 9, connection_id_bytes: 1, ..Quic::default() }
        );
        assert!(headers.dont_fragment);
    }

    #[test]
    fn the_ecn_codepoint_of_both_versions() {
        for codepoint in 0..4 {
            let mut bytes = tcp4(b"");
            bytes[1] |= codepoint;
            assert_eq!(parse(&bytes).ecn, codepoint);
            let mut bytes = Vec::new();
            let header = etherparse::Ipv6Header {
                traffic_class: 0xfc | codepoint,
                flow_label: Ipv6FlowLabel::try_new(0xf_ffff).expect("20 bits"),
                next_header: IpNumber::UDP,
                payload_length: 0,
                ..etherparse::Ipv6Header::default()
            };
            header.write(&mut bytes).expect("it fits");
            assert_eq!(parse(&bytes).ecn, codepoint);
        }
    }

    #[test]
    fn a_packet_cut_anywhere_is_read_as_far_as_it_goes() {
        for whole in [tcp4(b"hello"), udp6(b"hello"), udp6_fragment(0), udp4_fragment(0)] {
            for length in 0..whole.len() {
                let headers = parse(&whole[..length]);
                assert!(headers.payload_bytes < 5);
                assert!(headers.source_port == 0 || headers.destination_port == 443);
                assert!(headers.transport_offset <= length);
            }
        }
    }

    #[test]
    fn a_later_fragment_has_no_ports() {
        for packet in [udp4_fragment(16), udp6_fragment(16)] {
            let headers = parse(&packet);
            assert!(headers.later_fragment);
            assert_eq!((headers.ip_protocol, headers.source_port, headers.transport_offset), (17, 0, 0));
        }
    }

    #[test]
    fn a_first_fragment_has_its_ports() {
        for (packet, offset) in [(udp4_fragment(0), 20), (udp6_fragment(0), 64)] {
            let headers = parse(&packet);
            assert!(!headers.later_fragment);
            assert_eq!((headers.source_port, headers.destination_port), (50_000, 443));
            assert_eq!((headers.transport_offset, headers.payload_bytes), (offset, 5));
        }
        assert_eq!(parse(&udp4_fragment(0)).ecn, 2);
    }

    #[test]
    fn what_is_no_ip_packet_is_all_zero() {
        for bytes in [&[][..], &[0; 100], &[0x05; 40], &[0x45; 10], &[0xff; 60]] {
            assert_eq!(parse(bytes), Headers::default());
            assert_eq!(parse(bytes).flow(), 0);
        }
    }

    #[test]
    fn the_number_of_a_flow_is_the_same_in_both_directions_and_in_every_run() {
        let there = parse(&tcp4(b"hello"));
        let back = Headers {
            source: there.destination,
            destination: there.source,
            source_port: there.destination_port,
            destination_port: there.source_port,
            tcp_sequence: 99,
            ..there
        };
        assert_eq!(there.flow(), back.flow());
        assert_eq!(there.flow(), 0x0baa_143e_18a6_c75b);
        let others = [
            Headers { source_port: 40_001, ..there },
            Headers { ip_protocol: 17, ..there },
            Headers { source: address4(3), ..there },
            // The ports swapped without the addresses.
            Headers { source_port: there.destination_port, destination_port: there.source_port, ..there },
        ];
        for other in others {
            assert_ne!(other.flow(), there.flow());
        }
    }

    proptest! {
        #[test]
        fn any_bytes_are_read_without_a_crash(
            bytes in prop::collection::vec(any::<u8>(), 0..200),
            first in prop::sample::select(vec![0x45_u8, 0x46, 0x4f, 0x60, 0x6f]),
            protocol in prop::sample::select(vec![0_u8, 1, 6, 17, 43, 44, 50, 51, 58, 59, 60, 135, 255]),
            repaired in any::<bool>(),
        ) {
            let mut bytes = bytes;
            if repaired && bytes.len() > 9 {
                bytes[0] = first;
                bytes[if first & 0x40 != 0 && first < 0x60 { 9 } else { 6 }] = protocol;
            }
            let headers = parse(&bytes);
            prop_assert!(headers.transport_offset <= bytes.len());
            prop_assert!(usize::from(headers.payload_bytes) <= bytes.len());
            headers.flow();
        }

        /// A good packet with some bytes changed and the end cut off.
        #[test]
        fn damaged_packets_are_read_without_a_crash(
            which in 0..4_usize,
            changes in prop::collection::vec((0..80_usize, any::<u8>()), 0..6),
            length in 0..120_usize,
        ) {
            let mut bytes = [tcp4(b"hello"), udp6(b"hello"), udp6_fragment(0), udp4_fragment(0)][which].clone();
            for (at, value) in changes {
                if let Some(byte) = bytes.get_mut(at) {
                    *byte = value;
                }
            }
            bytes.truncate(length);
            prop_assert!(parse(&bytes).transport_offset <= bytes.len());
        }
    }
}
