//! A packet as a capture would have shown it, and its fate in words, from its record.

use serde_json::Value;

use crate::logfile::LogFile;
use crate::quic;
use crate::record::{
    DELIVERED, EDIT_CE, EDIT_CORRUPTED, EDIT_ECN, EDIT_FORGIVEN, EDIT_HELD, EDIT_ICMP, EDIT_PORT, NO_FLOW, NO_STAGE,
    QUEUED, Record,
};

const TCP: u8 = 6;
const UDP: u8 = 17;
const CE: u8 = 3;
const SYN: u8 = 2;
/// The option for the largest window scale (RFC 7323, 2.2) and its padding. Without it the window that is made up would
/// be 64 KiB, and what reads the file would find it full.
const LARGEST_SCALE: [u8; 4] = [1, 3, 3, 14];
const HOPS: u8 = 64;
/// Stand-ins for the addresses that a log of version 1 lacks; RFC 5737 keeps them for documentation.
const UNKNOWN_CLIENT: [u8; 4] = [192, 0, 2, 1];
const UNKNOWN_SERVER: [u8; 4] = [192, 0, 2, 2];

/// Writes IP, TCP and UDP headers into `bytes`: what the record lacks is made up (64 hops, the largest window, no
/// checksum but IPv4's) or left out (options, payload). Nothing where the headers could not be read.
pub fn headers(record: &Record, departed: bool, bytes: &mut Vec<u8>) {
    bytes.clear();
    let ecn = match departed {
        true if record.edits & EDIT_ECN != 0 => record.departure_ecn & 3,
        true if record.edits & EDIT_CE != 0 => CE, // also of logs without `departure_ecn`
        _ => record.ecn & 3,
    };
    let ip_bytes = match (record.ip_version, record.ip_protocol) {
        (0, 0) => return,
        (6, _) => put_ipv6(record, ecn, bytes),
        _ => put_ipv4(record, ecn, bytes),
    };
    // Ports of 0: a fragment other than the first, or a packet that is cut off.
    if record.client_port != 0 || record.server_port != 0 {
        match record.ip_protocol {
            TCP => put_tcp(record, ip_bytes, bytes),
            UDP => put_udp(record, bytes),
            _ => {}
        }
    }
    bytes.truncate(record.size_bytes as usize);
}

fn is_up(record: &Record) -> bool {
    record.direction == 0
}

fn in_direction<T>(record: &Record, client: T, server: T) -> [T; 2] {
    if is_up(record) { [client, server] } else { [server, client] }
}

fn put_ipv4(record: &Record, ecn: u8, bytes: &mut Vec<u8>) -> u32 {
    let first4 = |address: &[u8; 16]| [address[0], address[1], address[2], address[3]];
    let (client, server) = match record.ip_version {
        0 => (UNKNOWN_CLIENT, UNKNOWN_SERVER),
        _ => (first4(&record.client_address), first4(&record.server_address)),
    };
    bytes.extend_from_slice(&[0x45, ecn]);
    bytes.extend_from_slice(&saturated(record.size_bytes).to_be_bytes());
    bytes.extend_from_slice(&[0, 0, 0, 0, HOPS, record.ip_protocol, 0, 0]);
    bytes.extend_from_slice(&in_direction(record, client, server).concat());
    let sum = bytes.chunks_exact(2).map(|pair| u32::from(u16::from_be_bytes([pair[0], pair[1]]))).sum::<u32>();
    let folded = (sum & 0xffff) + (sum >> 16);
    let checksum = !((folded & 0xffff) + (folded >> 16)) as u16;
    bytes[10..12].copy_from_slice(&checksum.to_be_bytes());
    20
}

fn put_ipv6(record: &Record, ecn: u8, bytes: &mut Vec<u8>) -> u32 {
    bytes.extend_from_slice(&[0x60, ecn << 4, 0, 0]);
    bytes.extend_from_slice(&saturated(record.size_bytes.saturating_sub(40)).to_be_bytes());
    bytes.extend_from_slice(&[record.ip_protocol, HOPS]);
    bytes.extend_from_slice(&in_direction(record, record.client_address, record.server_address).concat());
    40
}

fn put_ports(record: &Record, bytes: &mut Vec<u8>) {
    for port in in_direction(record, record.client_port, record.server_port) {
        bytes.extend_from_slice(&port.to_be_bytes());
    }
}

fn put_tcp(record: &Record, ip_bytes: u32, bytes: &mut Vec<u8>) {
    let header_bytes = record.size_bytes.saturating_sub(ip_bytes + u32::from(record.payload_bytes)).clamp(20, 60);
    put_ports(record, bytes);
    bytes.extend_from_slice(&record.transport_sequence.to_be_bytes());
    bytes.extend_from_slice(&record.acknowledgement.to_be_bytes());
    bytes.extend_from_slice(&[((header_bytes / 4) << 4) as u8, record.tcp_flags, 0xff, 0xff, 0, 0, 0, 0]);
    if record.tcp_flags & SYN != 0 && header_bytes >= 20 + LARGEST_SCALE.len() as u32 {
        bytes.extend_from_slice(&LARGEST_SCALE);
    }
}

fn put_udp(record: &Record, bytes: &mut Vec<u8>) {
    put_ports(record, bytes);
    bytes.extend_from_slice(&record.payload_bytes.saturating_add(8).to_be_bytes());
    bytes.extend_from_slice(&[0, 0]);
}

fn saturated(number: u32) -> u16 {
    u16::try_from(number).unwrap_or(u16::MAX)
}

/// Returns the fate of a packet in words.
pub fn comment(record: &Record, log: &LogFile) -> String {
    let mut text = fate(record, log);
    for (bit, words) in [
        (EDIT_CE, "congestion experienced marked"),
        (EDIT_CORRUPTED, "a bit flipped"),
        (EDIT_PORT, "client's port changed"),
        (EDIT_ICMP, "sender notified by ICMP"),
        (EDIT_FORGIVEN, "forgiven by surgery"),
        (EDIT_HELD, "held by surgery"),
        (EDIT_ECN, "ECN codepoint rewritten"),
    ] {
        if record.edits & bit != 0 {
            text = format!("{text}; {words}");
        }
    }
    if record.queue_packets > 0 {
        let plural = if record.queue_packets == 1 { "" } else { "s" };
        let (packets, bytes) = (record.queue_packets, record.queue_bytes);
        text = format!("{text}; met a queue of {packets} packet{plural}, {bytes} bytes");
    }
    text = format!("{text}; packet {}", record.sequence);
    if record.copy > 0 {
        text = format!("{text}, copy {}", record.copy);
    }
    if record.flow != NO_FLOW && record.ip_version != 0 {
        text = format!("{text} of flow {}", record.flow);
    }
    match quic_text(record) {
        Some(quic) => format!("{text}; {quic}"),
        None => text,
    }
}

fn fate(record: &Record, log: &LogFile) -> String {
    match record.verdict {
        DELIVERED => format!(
            "delivered, {} queue+delay, late {}",
            duration(record.due_ns.saturating_sub(record.arrival_ns)),
            duration(record.departure_ns.saturating_sub(record.due_ns)),
        ),
        QUEUED => "still in flight at the end".to_owned(),
        code => {
            let name = log.verdicts.get(&code).map_or("unknown", |name| name.trim_start_matches("dropped_"));
            let stage = match record.stage {
                NO_STAGE => String::new(),
                stage => format!(", stage {stage}{}", kind(record, stage, &log.header)),
            };
            format!("dropped: {name}{stage}")
        }
    }
}

fn kind(record: &Record, stage: u8, header: &Value) -> String {
    let direction = if is_up(record) { "up" } else { "down" };
    let kind = &header["config"][direction][usize::from(stage)]["kind"];
    kind.as_str().map(|kind| format!(" ({kind})")).unwrap_or_default()
}

fn quic_text(record: &Record) -> Option<String> {
    let name = match record.quic_form {
        quic::SHORT => "QUIC short header",
        quic::INITIAL => "QUIC Initial",
        quic::ZERO_RTT => "QUIC 0-RTT",
        quic::HANDSHAKE => "QUIC Handshake",
        quic::RETRY => "QUIC Retry",
        quic::VERSION_NEGOTIATION => "QUIC version negotiation",
        _ => return None,
    };
    let shown = usize::from(record.connection_id_bytes.min(8));
    if shown == 0 {
        return Some(name.to_owned());
    }
    let id = format!("{:016x}", record.connection_id.swap_bytes());
    let id = &id[..2 * shown];
    let rest = if record.connection_id_bytes > 8 { "…" } else { "" };
    Some(format!("{name} to {id}{rest}"))
}

/// A time in the unit that people would use.
fn duration(ns: u64) -> String {
    match ns {
        0..1_000 => format!("{ns} ns"),
        1_000..1_000_000 => format!("{:.0} µs", ns as f64 / 1e3),
        1_000_000..1_000_000_000 => format!("{:.1} ms", ns as f64 / 1e6),
        _ => format!("{:.3} s", ns as f64 / 1e9),
    }
}

#[cfg(test)]
mod tests {
    use etherparse::PacketBuilder;
    use proptest::prelude::*;

    use super::*;
    use crate::headers::{Headers, parse};

    #[test]
    fn synthetic_headers_are_read_as_the_packet_was() {
        let mut packet = Vec::new();
        let builder = PacketBuilder::ipv4([10, 8, 0, 1], [10, 8, 0, 2], 64).tcp(40_000, 443, 5, 1000).ack(7);
        builder.write(&mut packet, &[0; 1000]).expect("it fits");
        packet[1] = 2;
        let read = parse(&packet);
        for up in [true, false] {
            let record = Record { size_bytes: packet.len() as u32, ..Record::arrived(&read, up) };
            let mut bytes = Vec::new();
            headers(&record, false, &mut bytes);
            assert_eq!(bytes.len(), 40);
            assert_eq!(parse(&bytes), Headers { payload_bytes: 0, dont_fragment: false, ..read });
            headers(&Record { edits: EDIT_CE, ..record }, true, &mut bytes);
            assert_eq!(parse(&bytes).ecn, CE);
            headers(&Record { edits: EDIT_CE | EDIT_ECN, departure_ecn: 1, ..record }, true, &mut bytes);
            assert_eq!(parse(&bytes).ecn, 1);
        }
    }

    #[test]
    fn udp_over_ipv6() {
        let mut packet = Vec::new();
        let builder = PacketBuilder::ipv6([1; 16], [2; 16], 64).udp(40_000, 443);
        builder.write(&mut packet, &[0; 1000]).expect("it fits");
        let mut bytes = Vec::new();
        let record = Record { size_bytes: packet.len() as u32, ..Record::arrived(&parse(&packet), false) };
        headers(&record, false, &mut bytes);
        packet[46..48].fill(0); // no checksum
        assert_eq!(bytes, packet[..48]);
    }

    #[test]
    fn durations() {
        let texts = [7, 4_200, 12_345_678, 1_500_000_000].map(duration);
        assert_eq!(texts, ["7 ns", "4 µs", "12.3 ms", "1.500 s"]);
    }

    proptest! {
        #[test]
        fn any_record_has_headers_no_longer_than_the_packet(
            size_bytes in 0..100_u32,
            ip_version in 0..8_u8,
            ip_protocol in prop::sample::select(vec![0_u8, 1, 6, 17, 255]),
            client_port in 0..2_u16,
            payload_bytes in any::<u16>(),
        ) {
            let record =
                Record { size_bytes, payload_bytes, client_port, ip_protocol, ip_version, ..Record::default() };
            let mut bytes = Vec::new();
            headers(&record, true, &mut bytes);
            prop_assert!(bytes.len() <= size_bytes as usize);
        }
    }
}
