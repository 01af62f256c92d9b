//! The log's record: one table of fields, used to write records, to read them and to describe them in the header.

use serde_json::{Value, json};

use crate::headers::Headers;

/// Verdict of a packet that left.
pub const DELIVERED: u8 = 0;
/// Verdict of a packet that was inside at exit.
pub const QUEUED: u8 = 1;
/// The first verdict of a dropped packet.
pub const FIRST_DROP: u8 = 2;
/// `stage` of a packet that no stage dropped.
pub const NO_STAGE: u8 = 255;
/// `flow` of a packet without addresses that can be read.
pub const NO_FLOW: u32 = u32::MAX;
/// Size of a record: the fields, and zeros between them.
pub const RECORD_BYTES: usize = 128;

/// Bits of `edits`: congestion experienced was marked.
pub const EDIT_CE: u8 = 1;
/// A bit was flipped.
pub const EDIT_CORRUPTED: u8 = 2;
/// The client's port was changed.
pub const EDIT_PORT: u8 = 4;
/// The sender was notified by ICMP that the packet was too big.
pub const EDIT_ICMP: u8 = 8;
/// Surgery let a packet through that a stage would have dropped or corrupted.
pub const EDIT_FORGIVEN: u8 = 16;
/// Surgery made the packet leave later.
pub const EDIT_HELD: u8 = 32;
/// A middlebox wrote another ECN codepoint.
pub const EDIT_ECN: u8 = 64;

/// The type of a field.
trait Field: Copy {
    /// Its numpy type.
    const TYPE: &'static str;
    fn put(self, bytes: &mut [u8]);
    fn get(bytes: &[u8]) -> Self;
}

macro_rules! number {
    ($type:ty, $numpy:literal) => {
        impl Field for $type {
            const TYPE: &'static str = $numpy;
            fn put(self, bytes: &mut [u8]) {
                bytes.copy_from_slice(&self.to_le_bytes());
            }
            fn get(bytes: &[u8]) -> Self {
                let mut own = [0; size_of::<Self>()];
                own.copy_from_slice(bytes);
                Self::from_le_bytes(own)
            }
        }
    };
}

number!(u64, "<u8");
number!(u32, "<u4");
number!(u16, "<u2");
number!(u8, "|u1");

impl Field for [u8; 16] {
    const TYPE: &'static str = "|V16";
    fn put(self, bytes: &mut [u8]) {
        bytes.copy_from_slice(&self);
    }
    fn get(bytes: &[u8]) -> Self {
        let mut own = [0; 16];
        own.copy_from_slice(bytes);
        own
    }
}

macro_rules! record {
    ($($name:ident: $type:ty, $unit:literal;)*) => {
        /// One packet (docs/reference/link-formats.md).
        #[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
        pub struct Record {
            $(pub $name: $type,)*
        }

        /// Name, numpy type, size and unit of each field.
        const FIELDS: &[(&str, &str, usize, &str)] =
            &[$((stringify!($name), <$type as Field>::TYPE, size_of::<$type>(), $unit),)*];

        impl Record {
            /// Little-endian bytes in the order of the fields.
            pub fn to_bytes(self) -> [u8; RECORD_BYTES] {
                let mut bytes = [0; RECORD_BYTES];
                let mut end = 0;
                $(
                    let start = usize::next_multiple_of(end, size_of::<$type>());
                    end = start + size_of::<$type>();
                    self.$name.put(&mut bytes[start..end]);
                )*
                debug_assert!(end <= RECORD_BYTES);
                bytes
            }

            /// Reads a record of a log whose header described these fields; what it lacks stays 0.
            pub fn read(bytes: &[u8], layout: &Layout) -> Self {
                let mut record = Self::default();
                let mut offsets = layout.offsets.iter();
                $(
                    if let Some(&Some(at)) = offsets.next() {
                        record.$name = Field::get(&bytes[at..at + size_of::<$type>()]);
                    }
                )*
                record
            }
        }
    };
}

record! {
    arrival_ns: u64, "ns";
    due_ns: u64, "ns";
    departure_ns: u64, "ns";
    sequence: u64, "";
    connection_id: u64, "";
    size_bytes: u32, "byte";
    queue_bytes: u32, "byte";
    queue_packets: u32, "packet";
    transport_sequence: u32, "";
    acknowledgement: u32, "";
    flow: u32, "";
    payload_bytes: u16, "byte";
    client_port: u16, "";
    server_port: u16, "";
    direction: u8, "";
    verdict: u8, "";
    stage: u8, "";
    ip_protocol: u8, "";
    tcp_flags: u8, "";
    ecn: u8, "";
    copy: u8, "";
    edits: u8, "";
    quic_form: u8, "";
    connection_id_bytes: u8, "byte";
    ip_version: u8, "";
    departure_ecn: u8, "";
    tag_start: u16, "";
    tag_end: u32, "";
    queued_ns: u64, "ns";
    client_address: [u8; 16], "";
    server_address: [u8; 16], "";
}

impl Record {
    /// Returns the record of a packet that has just arrived, with the fields of its headers. `up`: it came from the client.
    pub fn arrived(headers: &Headers, up: bool) -> Self {
        let mut record = Self {
            verdict: QUEUED,
            stage: NO_STAGE,
            direction: u8::from(!up),
            flow: NO_FLOW,
            connection_id: headers.quic.connection_id,
            transport_sequence: headers.tcp_sequence,
            acknowledgement: headers.tcp_acknowledgement,
            payload_bytes: headers.payload_bytes,
            client_port: headers.source_port,
            server_port: headers.destination_port,
            ip_protocol: headers.ip_protocol,
            tcp_flags: headers.tcp_flags,
            ecn: headers.ecn,
            departure_ecn: headers.ecn,
            quic_form: headers.quic.form,
            connection_id_bytes: headers.quic.connection_id_bytes,
            tag_start: headers.quic.tag_start,
            tag_end: headers.quic.tag_end,
            ip_version: headers.ip_version,
            client_address: headers.source,
            server_address: headers.destination,
            ..Self::default()
        };
        if !up {
            std::mem::swap(&mut record.client_port, &mut record.server_port);
            std::mem::swap(&mut record.client_address, &mut record.server_address);
        }
        record
    }

    /// The `fields` of the log's header.
    pub fn describe() -> Value {
        let mut offset = 0;
        let mut described = Vec::with_capacity(FIELDS.len());
        for &(name, kind, size, unit) in FIELDS {
            offset = usize::next_multiple_of(offset, size);
            described.push(json!({"name": name, "type": kind, "offset": offset, "unit": unit}));
            offset += size;
        }
        Value::Array(described)
    }
}

/// The places of the fields, from a log's header.
pub struct Layout {
    pub record_bytes: usize,
    /// The place of each of `FIELDS`; None if the log has no such field.
    offsets: Vec<Option<usize>>,
}

impl Layout {
    /// Reads a header; None where it makes no sense.
    pub fn of_header(header: &Value) -> Option<Self> {
        let record_bytes = usize::try_from(header["record_bytes"].as_u64()?).ok().filter(|bytes| *bytes > 0)?;
        let mut offsets = vec![None; FIELDS.len()];
        for field in header["fields"].as_array()? {
            let (name, kind) = (field["name"].as_str()?, field["type"].as_str()?);
            let offset = usize::try_from(field["offset"].as_u64()?).ok()?;
            let Some(index) = FIELDS.iter().position(|known| known.0 == name) else { continue };
            let (_, known_kind, size, _) = FIELDS[index];
            if kind != known_kind || offset.checked_add(size)? > record_bytes {
                return None;
            }
            offsets[index] = Some(offset);
        }
        Some(Self { record_bytes, offsets })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn example() -> Record {
        Record {
            arrival_ns: 1 << 60,
            due_ns: 2 << 50,
            departure_ns: 3,
            sequence: 4,
            connection_id: 0x8877_6655_4433_2211,
            size_bytes: 70_000,
            queue_bytes: 6,
            queue_packets: 7,
            transport_sequence: u32::MAX,
            acknowledgement: 8,
            flow: 9,
            payload_bytes: 9,
            client_port: 10,
            server_port: 443,
            direction: 1,
            verdict: 13,
            stage: 255,
            ip_protocol: 17,
            tcp_flags: 0x18,
            ecn: 2,
            copy: 1,
            edits: 5,
            quic_form: 4,
            connection_id_bytes: 20,
            ip_version: 4,
            departure_ecn: 3,
            tag_start: 13,
            tag_end: 14,
            queued_ns: 12,
            client_address: [1; 16],
            server_address: [2; 16],
        }
    }

    fn layout() -> Layout {
        let header = json!({"record_bytes": RECORD_BYTES, "fields": Record::describe()});
        Layout::of_header(&header).expect("it makes sense")
    }

    #[test]
    fn bytes_are_where_the_header_says() {
        assert_eq!(Record::read(&example().to_bytes(), &layout()), example());
    }

    #[test]
    fn the_offsets_are_part_of_the_format() {
        let described = Record::describe();
        let at = |name: &str| {
            let fields = described.as_array().expect("a list");
            fields.iter().find(|field| field["name"] == name).expect("a field")["offset"].clone()
        };
        let expected =
            [("size_bytes", 40), ("payload_bytes", 64), ("direction", 70), ("tag_start", 82), ("tag_end", 84)];
        for (name, offset) in
            expected.into_iter().chain([("queued_ns", 88), ("client_address", 96), ("server_address", 112)])
        {
            assert_eq!(at(name), offset, "{name}");
        }
        let bytes = example().to_bytes();
        assert_eq!(bytes[32..40], [0x11, 0x22, 0x33, 0x44, 0x55, 0x66, 0x77, 0x88]);
        assert_eq!(bytes[44..48], [6, 0, 0, 0]);
        assert_eq!(bytes[68..72], [0xbb, 1, 1, 13]);
    }

    #[test]
    fn a_log_with_fewer_fields_leaves_the_others_at_zero() {
        let header =
            json!({"record_bytes": 8, "fields": [{"name": "sequence", "type": "<u8", "offset": 0, "unit": ""}]});
        let layout = Layout::of_header(&header).expect("it makes sense");
        let record = Record::read(&7_u64.to_le_bytes(), &layout);
        assert_eq!(record, Record { sequence: 7, ..Record::default() });
    }

    #[test]
    fn a_field_outside_of_the_record_or_of_another_type_is_refused() {
        for (kind, offset) in [("<u8", 1), ("<u4", 0), ("<u8", u64::MAX)] {
            let field = json!({"name": "sequence", "type": kind, "offset": offset});
            assert!(Layout::of_header(&json!({"record_bytes": 8, "fields": [field]})).is_none());
        }
        let unknown = json!({"record_bytes": 8, "fields": [{"name": "x", "type": "<f8", "offset": 0}]});
        assert!(Layout::of_header(&unknown).is_some());
        assert!(Layout::of_header(&json!({"record_bytes": 0, "fields": []})).is_none());
        assert!(Layout::of_header(&json!({})).is_none());
    }

    #[test]
    fn client_and_server_are_the_same_in_both_directions() {
        let there = Headers { source_port: 1, destination_port: 2, source: [3; 16], ..Headers::default() };
        let back = Headers { source_port: 2, destination_port: 1, destination: [3; 16], ..Headers::default() };
        let (up, down) = (Record::arrived(&there, true), Record::arrived(&back, false));
        assert_eq!((up.direction, down.direction), (0, 1));
        assert_eq!(Record { direction: 0, ..down }, up);
        assert_eq!((up.client_port, up.server_port, up.client_address), (1, 2, [3; 16]));
    }
}
