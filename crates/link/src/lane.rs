//! One direction of the router: the fates of its packets, those that wait, and what was counted.

use link_core::{Config, Direction, DirectionName, Inside, Verdict};
use serde_json::Value;

use crate::counters::{Counters, OVERFLOW, OVERSIZE};
use crate::headers;
use crate::ports::{FRAME_BYTES, Received};
use crate::record::{DELIVERED, Record};

/// Half a gigabyte of frames: beyond it the router drops instead of growing without bound.
const MAX_FRAMES: usize = 262_144;
const FIRST_FRAMES: usize = 256;
const LATE_NS: u64 = 1_000_000;

/// A frame in memory and what the log will say of it.
pub struct Packet {
    pub bytes: [u8; FRAME_BYTES],
    pub length: usize,
    pub record: Record,
}

impl Packet {
    /// The frame as it goes out.
    pub fn frame(&self) -> &[u8] {
        &self.bytes[..self.length]
    }
}

/// Frames that are not in use, so that the datapath need not allocate in steady state.
pub struct Pool {
    #[expect(clippy::vec_box, reason = "packets move between pool, heap and batch, and each is 2 KB")]
    free: Vec<Box<Packet>>,
    made: usize,
}

impl Pool {
    pub fn new() -> Self {
        let mut pool = Self { free: Vec::new(), made: 0 };
        pool.free = (0..FIRST_FRAMES).map(|_| pool.make()).collect();
        pool
    }

    fn make(&mut self) -> Box<Packet> {
        self.made += 1;
        Box::new(Packet { bytes: [0; FRAME_BYTES], length: 0, record: Record::default() })
    }

    pub fn take(&mut self) -> Box<Packet> {
        self.free.pop().unwrap_or_else(|| self.make())
    }

    pub fn give_back(&mut self, packet: Box<Packet>) {
        self.free.push(packet);
    }

    fn is_exhausted(&self) -> bool {
        self.free.is_empty() && self.made >= MAX_FRAMES
    }
}

/// See the module.
pub struct Lane {
    name: DirectionName,
    fates: Direction,
    pub inside: Inside<Box<Packet>>,
    pub counters: Counters,
    sequence: u64,
}

impl Lane {
    pub fn new(config: &Config, name: DirectionName) -> Self {
        Self { name, fates: config.direction(name), inside: Inside::default(), counters: Counters::new(), sequence: 0 }
    }

    /// Takes in an IP packet that was received into `packet.bytes`. Gives it back if it was dropped, its record
    /// complete. `header_bytes` come before the IP header; `max_frame_bytes` is what the other interface can send.
    pub fn admit(
        &mut self,
        mut packet: Box<Packet>,
        received: &Received,
        header_bytes: usize,
        max_frame_bytes: usize,
        pool: &Pool,
    ) -> Option<Box<Packet>> {
        let size_bytes = (received.wire_length - header_bytes.min(received.wire_length)) as u32;
        packet.length = received.length;
        packet.record = self.describe(&packet.frame()[header_bytes..], received.arrival_ns, size_bytes);
        self.counters.arrived += 1;
        self.counters.arrived_bytes += u64::from(size_bytes);
        self.sequence += 1;
        let impossible = if received.wire_length > max_frame_bytes {
            Some(OVERSIZE)
        } else if pool.is_exhausted() {
            Some(OVERFLOW)
        } else {
            None
        };
        if let Some(reason) = impossible {
            packet.record.verdict = self.counters.drop_for(reason);
            return Some(packet);
        }
        let fate = self.fates.arrive(received.arrival_ns, size_bytes);
        packet.record.queue_bytes = fate.queue_bytes as u32;
        packet.record.queue_packets = fate.queue_packets;
        match fate.verdict {
            Verdict::Deliver { due_ns } => {
                packet.record.due_ns = due_ns;
                self.inside.push(due_ns, packet.record.sequence, packet);
                None
            }
            Verdict::Drop { stage, reason } => {
                packet.record.stage = stage as u8;
                packet.record.verdict = self.counters.drop_for(reason);
                Some(packet)
            }
        }
    }

    fn describe(&self, ip_packet: &[u8], arrival_ns: u64, size_bytes: u32) -> Record {
        let record = Record::arrived(&headers::parse(ip_packet), self.name == DirectionName::Up);
        Record { arrival_ns, sequence: self.sequence, size_bytes, ..record }
    }

    /// Completes the record of a packet that left and says how late it was, in nanoseconds.
    pub fn departed(&mut self, packet: &mut Packet, departure_ns: u64) -> u64 {
        packet.record.verdict = DELIVERED;
        packet.record.departure_ns = departure_ns;
        self.counters.delivered += 1;
        self.counters.delivered_bytes += u64::from(packet.record.size_bytes);
        let late_ns = departure_ns.saturating_sub(packet.record.due_ns);
        self.counters.late_over_1ms += u64::from(late_ns > LATE_NS);
        late_ns
    }

    /// The direction's part of the summary, with `queued` packets still inside.
    pub fn summary(&self, queued: u64) -> Value {
        self.counters.summary(queued, self.fates.max_queue_bytes())
    }
}
