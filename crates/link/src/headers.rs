//! What the log keeps of a packet's IP, TCP and UDP headers.

use etherparse::{LaxNetSlice, LaxSlicedPacket, TransportSlice};

/// Fields of the headers; 0 where the packet has none, or where it is cut off before them.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Headers {
    pub ip_protocol: u8,
    pub source_port: u16,
    pub destination_port: u16,
    pub tcp_sequence: u32,
    pub tcp_flags: u8,
    pub payload_bytes: u16,
}

/// Reads an IP packet; whatever cannot be read stays 0.
pub fn parse(packet: &[u8]) -> Headers {
    let mut headers = Headers::default();
    let Ok(sliced) = LaxSlicedPacket::from_ip(packet) else {
        return headers;
    };
    headers.ip_protocol = match &sliced.net {
        Some(LaxNetSlice::Ipv4(ip)) => ip.payload().ip_number.0,
        Some(LaxNetSlice::Ipv6(ip)) => ip.payload().ip_number.0,
        _ => 0,
    };
    match &sliced.transport {
        Some(TransportSlice::Tcp(tcp)) => {
            headers.source_port = tcp.source_port();
            headers.destination_port = tcp.destination_port();
            headers.tcp_sequence = tcp.sequence_number();
            headers.tcp_flags = tcp.slice()[13];
            headers.payload_bytes = tcp.payload().len() as u16;
        }
        Some(TransportSlice::Udp(udp)) => {
            headers.source_port = udp.source_port();
            headers.destination_port = udp.destination_port();
            headers.payload_bytes = udp.payload().len() as u16;
        }
        _ => {}
    }
    headers
}

#[cfg(test)]
mod tests {
    use etherparse::PacketBuilder;

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

    #[test]
    fn tcp_over_ipv4() {
        let expected = Headers {
            ip_protocol: 6,
            source_port: 40_000,
            destination_port: 443,
            tcp_sequence: 0x0102_0304,
            tcp_flags: 0x18,
            payload_bytes: 5,
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
        let headers = parse(&udp6(&[0; 1200]));
        assert_eq!((headers.ip_protocol, headers.source_port, headers.payload_bytes), (17, 50_000, 1200));
        assert_eq!((headers.tcp_sequence, headers.tcp_flags), (0, 0));
    }

    #[test]
    fn a_packet_cut_anywhere_is_read_as_far_as_it_goes() {
        for whole in [tcp4(b"hello"), udp6(b"hello")] {
            for length in 0..whole.len() {
                let headers = parse(&whole[..length]);
                assert!(headers.payload_bytes < 5);
                assert!(headers.source_port == 0 || headers.destination_port == 443);
            }
        }
    }

    #[test]
    fn a_later_fragment_has_no_ports() {
        let mut bytes = udp6(b"hello").split_off(40);
        let mut packet = vec![0x45, 0, 0, 0, 0, 1, 0x20, 0x10, 64, 17, 0, 0, 10, 8, 0, 1, 10, 8, 0, 2];
        packet.append(&mut bytes);
        packet[3] = packet.len() as u8;
        let headers = parse(&packet);
        assert_eq!((headers.ip_protocol, headers.source_port), (17, 0));
    }
}
