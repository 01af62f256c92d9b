//! The log's record: one table of fields, used to write records and to describe them in the header.

use serde_json::{Value, json};

/// Verdict of a packet that left.
pub const DELIVERED: u8 = 0;
/// Verdict of a packet that was inside at exit.
pub const QUEUED: u8 = 1;
/// The first verdict of a dropped packet.
pub const FIRST_DROP: u8 = 2;
/// `stage` of a packet that no stage dropped.
pub const NO_STAGE: u8 = 255;
/// Size of a record: the fields and zeros to a multiple of 64 bytes.
pub const RECORD_BYTES: usize = 64;

/// One packet (docs/link-formats.md).
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Record {
    pub arrival_ns: u64,
    pub due_ns: u64,
    pub departure_ns: u64,
    pub sequence: u64,
    pub size_bytes: u32,
    pub queue_bytes: u32,
    pub queue_packets: u32,
    pub transport_sequence: u32,
    pub payload_bytes: u16,
    pub client_port: u16,
    pub server_port: u16,
    pub direction: u8,
    pub verdict: u8,
    pub stage: u8,
    pub ip_protocol: u8,
    pub tcp_flags: u8,
}

/// Name, numpy type, unit; the offset of each is the sum of the sizes before it.
const FIELDS: [(&str, &str, &str); 16] = [
    ("arrival_ns", "<u8", "ns"),
    ("due_ns", "<u8", "ns"),
    ("departure_ns", "<u8", "ns"),
    ("sequence", "<u8", ""),
    ("size_bytes", "<u4", "byte"),
    ("queue_bytes", "<u4", "byte"),
    ("queue_packets", "<u4", "packet"),
    ("transport_sequence", "<u4", ""),
    ("payload_bytes", "<u2", "byte"),
    ("client_port", "<u2", ""),
    ("server_port", "<u2", ""),
    ("direction", "|u1", ""),
    ("verdict", "|u1", ""),
    ("stage", "|u1", ""),
    ("ip_protocol", "|u1", ""),
    ("tcp_flags", "|u1", ""),
];

impl Record {
    /// Little-endian bytes in the order of the fields.
    pub fn to_bytes(self) -> [u8; RECORD_BYTES] {
        let mut bytes = [0; RECORD_BYTES];
        for (index, value) in [self.arrival_ns, self.due_ns, self.departure_ns, self.sequence].into_iter().enumerate() {
            bytes[index * 8..index * 8 + 8].copy_from_slice(&value.to_le_bytes());
        }
        let quads = [self.size_bytes, self.queue_bytes, self.queue_packets, self.transport_sequence];
        for (index, value) in quads.into_iter().enumerate() {
            bytes[32 + index * 4..36 + index * 4].copy_from_slice(&value.to_le_bytes());
        }
        for (index, value) in [self.payload_bytes, self.client_port, self.server_port].into_iter().enumerate() {
            bytes[48 + index * 2..50 + index * 2].copy_from_slice(&value.to_le_bytes());
        }
        let singles = [self.direction, self.verdict, self.stage, self.ip_protocol, self.tcp_flags];
        bytes[54..59].copy_from_slice(&singles);
        bytes
    }

    /// The `fields` of the log's header.
    pub fn describe() -> Value {
        let mut offset = 0;
        let mut described = Vec::with_capacity(FIELDS.len());
        for (name, kind, unit) in FIELDS {
            described.push(json!({"name": name, "type": kind, "offset": offset, "unit": unit}));
            offset += usize::from(kind.as_bytes()[2] - b'0');
        }
        Value::Array(described)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Reads a field as the header says it is to be read.
    fn field(bytes: &[u8], name: &str) -> u64 {
        let described = Record::describe();
        let found = described.as_array().expect("a list").iter().find(|entry| entry["name"] == name).expect("a field");
        let offset = found["offset"].as_u64().expect("a number") as usize;
        let size = usize::from(found["type"].as_str().expect("text").as_bytes()[2] - b'0');
        let mut wide = [0; 8];
        wide[..size].copy_from_slice(&bytes[offset..offset + size]);
        u64::from_le_bytes(wide)
    }

    #[test]
    fn bytes_are_where_the_header_says() {
        let record = Record {
            arrival_ns: 1 << 60,
            due_ns: 2 << 50,
            departure_ns: 3,
            sequence: 4,
            size_bytes: 70_000,
            queue_bytes: 6,
            queue_packets: 7,
            transport_sequence: u32::MAX,
            payload_bytes: 9,
            client_port: 10,
            server_port: 443,
            direction: 1,
            verdict: 13,
            stage: 255,
            ip_protocol: 17,
            tcp_flags: 0x18,
        };
        let bytes = record.to_bytes();
        let expected: [(&str, u64); 16] = [
            ("arrival_ns", 1 << 60),
            ("due_ns", 2 << 50),
            ("departure_ns", 3),
            ("sequence", 4),
            ("size_bytes", 70_000),
            ("queue_bytes", 6),
            ("queue_packets", 7),
            ("transport_sequence", u64::from(u32::MAX)),
            ("payload_bytes", 9),
            ("client_port", 10),
            ("server_port", 443),
            ("direction", 1),
            ("verdict", 13),
            ("stage", 255),
            ("ip_protocol", 17),
            ("tcp_flags", 0x18),
        ];
        for (name, value) in expected {
            assert_eq!(field(&bytes, name), value, "{name}");
        }
        assert_eq!(Record::describe().as_array().map(Vec::len), Some(expected.len()));
    }
}
