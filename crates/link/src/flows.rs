//! Numbers the flows of a log, and remembers for each what a QUIC short header lacks.

use std::collections::HashMap;

use crate::quic;
use crate::record::{NO_FLOW, Record};

/// Some hundred megabytes of flows; those beyond it get no number, and the log stays true.
const MAX_FLOWS: usize = 1 << 20;

/// Version, protocol, addresses and ports.
type Key = (u8, u8, [u8; 16], [u8; 16], u16, u16);

struct Flow {
    number: u32,
    /// Length of the destination's connection id in the last long header of each direction.
    connection_id_bytes: [Option<u8>; 2],
}

/// See the module.
#[derive(Default)]
pub struct Flows {
    known: HashMap<Key, Flow>,
}

impl Flows {
    /// Fills in the number of a packet's flow, from 0 in order of appearance and the same for both directions, and what
    /// earlier long headers show about the connection id of a short one.
    ///
    /// TCP and UDP have a flow for each pair of ports, other protocols one for each pair of addresses.
    pub fn note(&mut self, record: &mut Record) {
        if record.ip_version == 0 {
            return;
        }
        let Some(flow) = self.flow_of(record) else { return };
        record.flow = flow.number;
        let learnt = &mut flow.connection_id_bytes[usize::from(record.direction & 1)];
        match (record.quic_form, *learnt) {
            (quic::INITIAL..=quic::VERSION_NEGOTIATION, _) => *learnt = Some(record.connection_id_bytes),
            (quic::SHORT, Some(bytes)) => {
                record.connection_id &= u64::MAX.checked_shr(64 - 8 * u32::from(bytes.min(8))).unwrap_or_default();
                record.connection_id_bytes = bytes;
            }
            _ => {}
        }
    }

    fn flow_of(&mut self, record: &Record) -> Option<&mut Flow> {
        let key = (
            record.ip_version,
            record.ip_protocol,
            record.client_address,
            record.server_address,
            record.client_port,
            record.server_port,
        );
        let number = self.known.len();
        if number >= MAX_FLOWS {
            return self.known.get_mut(&key);
        }
        debug_assert!((number as u32) < NO_FLOW);
        Some(self.known.entry(key).or_insert_with(|| Flow { number: number as u32, connection_id_bytes: [None; 2] }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn packet(direction: u8, client_port: u16) -> Record {
        Record { ip_version: 4, ip_protocol: 17, flow: NO_FLOW, direction, client_port, ..Record::default() }
    }

    fn noted(flows: &mut Flows, mut record: Record) -> Record {
        flows.note(&mut record);
        record
    }

    #[test]
    fn flows_are_numbered_in_order_of_appearance_for_both_directions() {
        let mut flows = Flows::default();
        let numbers = [(0, 7), (0, 9), (1, 9), (1, 7), (1, 8)]
            .map(|(direction, port)| noted(&mut flows, packet(direction, port)).flow);
        assert_eq!(numbers, [0, 1, 1, 0, 2]);
        let other_protocol = Record { ip_protocol: 6, ..packet(0, 7) };
        assert_eq!(noted(&mut flows, other_protocol).flow, 3);
        let other_address = Record { server_address: [1; 16], ..packet(0, 7) };
        assert_eq!(noted(&mut flows, other_address).flow, 4);
        assert_eq!(noted(&mut flows, Record { ip_version: 0, ..packet(0, 7) }).flow, NO_FLOW);
    }

    #[test]
    fn a_short_header_has_the_length_of_the_last_long_one_of_its_direction() {
        let long = |direction, bytes| Record {
            quic_form: quic::HANDSHAKE,
            connection_id_bytes: bytes,
            connection_id: 1,
            ..packet(direction, 7)
        };
        let short = |direction| Record { quic_form: quic::SHORT, connection_id: u64::MAX, ..packet(direction, 7) };
        let mut flows = Flows::default();
        let seen = |record: Record| (record.connection_id, record.connection_id_bytes);
        assert_eq!(seen(noted(&mut flows, short(0))), (u64::MAX, 0));
        for (bytes, expected) in [(18, u64::MAX), (8, u64::MAX), (4, 0xffff_ffff), (0, 0)] {
            assert_eq!(seen(noted(&mut flows, long(0, bytes))), (1, bytes));
            assert_eq!(seen(noted(&mut flows, short(0))), (expected, bytes));
        }
        assert_eq!(seen(noted(&mut flows, short(1))), (u64::MAX, 0));
        let no_quic = Record { quic_form: quic::NOT_QUIC, ..packet(0, 7) };
        assert_eq!(noted(&mut flows, no_quic).connection_id_bytes, 0);
    }
}
