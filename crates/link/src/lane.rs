//! One direction of the router: the fates of its packets, those that wait, and what was counted.

use std::collections::BTreeMap;

use link_core::{Config, Direction, DirectionName, Event, Fate, Inside, PacketInfo, Transport, Verdict};
use serde_json::Value;

use crate::counters::{Counters, OVERFLOW, OVERSIZE};
use crate::headers::{self, Headers};
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
    /// Of packets that are due at the same time, the one with the lower turn leaves first.
    turn: u64,
}

impl Packet {
    /// The frame as it goes out.
    pub fn frame(&self) -> &[u8] {
        &self.bytes[..self.length]
    }

    fn become_copy_of(&mut self, other: &Self) {
        self.bytes[..other.length].copy_from_slice(other.frame());
        (self.length, self.record) = (other.length, other.record);
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
        Box::new(Packet { bytes: [0; FRAME_BYTES], length: 0, record: Record::default(), turn: 0 })
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

/// A packet whose fate, or that of a copy of it, is not known yet.
struct Waiting {
    packet: Box<Packet>,
    fates: u32,
}

/// See the module.
pub struct Lane {
    name: DirectionName,
    fates: Direction,
    inside: Inside<Box<Packet>>,
    waiting: BTreeMap<u64, Waiting>,
    /// Dropped packets with complete records, for the log.
    pub dropped: Vec<Box<Packet>>,
    pub counters: Counters,
    /// Number of the next packet in the log.
    sequence: u64,
    /// Number of the next packet in `fates`, which is not asked about those that cannot be moved.
    number: u64,
    turn: u64,
    events: Vec<Event>,
}

impl Lane {
    pub fn new(config: &Config, name: DirectionName) -> Self {
        Self {
            name,
            fates: config.direction(name),
            inside: Inside::default(),
            waiting: BTreeMap::new(),
            dropped: Vec::new(),
            counters: Counters::new(),
            sequence: 0,
            number: 0,
            turn: 0,
            events: Vec::new(),
        }
    }

    /// Sets link time 0, at the first call.
    pub fn begin(&mut self, origin_ns: u64) {
        self.fates.begin(origin_ns);
    }

    /// Takes in an IP packet that was received into `packet.bytes`. `header_bytes` come before the IP header;
    /// `max_frame_bytes` is what the other interface can send.
    pub fn admit(
        &mut self,
        mut packet: Box<Packet>,
        received: &Received,
        header_bytes: usize,
        max_frame_bytes: usize,
        pool: &mut Pool,
    ) {
        let size_bytes = (received.wire_length - header_bytes.min(received.wire_length)) as u32;
        packet.length = received.length;
        let headers = headers::parse(&packet.frame()[header_bytes..]);
        let record = Record::arrived(&headers, self.name == DirectionName::Up);
        packet.record = Record { arrival_ns: received.arrival_ns, sequence: self.sequence, size_bytes, ..record };
        self.counters.arrived += 1;
        self.counters.arrived_bytes += u64::from(size_bytes);
        self.sequence += 1;
        if received.wire_length > max_frame_bytes {
            return self.drop_for(OVERSIZE, packet);
        }
        if pool.is_exhausted() {
            return self.drop_for(OVERFLOW, packet);
        }
        self.fates.arrive(received.arrival_ns, &describe(&headers, size_bytes), &mut self.events);
        let number = self.number;
        self.number += 1;
        self.settle(Some((number, Waiting { packet, fates: 1 })), pool);
    }

    /// Has everything decided that is due by `now_ns`.
    pub fn advance(&mut self, now_ns: u64, pool: &mut Pool) {
        if self.fates.next_event_ns().is_some_and(|event_ns| event_ns <= now_ns) {
            self.fates.advance(now_ns, &mut self.events);
            self.settle(None, pool);
        }
    }

    /// Deals with what was decided, about the packet that has just come or others.
    fn settle(&mut self, mut current: Option<(u64, Waiting)>, pool: &mut Pool) {
        let mut events = std::mem::take(&mut self.events);
        for event in events.drain(..) {
            let (Event::Copied { number } | Event::Decided { number, .. }) = event;
            let is_current = current.as_ref().is_some_and(|(own, _)| *own == number);
            let waiting =
                if is_current { current.as_mut().map(|(_, waiting)| waiting) } else { self.waiting.get_mut(&number) };
            let waiting = waiting.expect("fates are decided once, and of packets that came");
            match event {
                Event::Copied { .. } => {
                    waiting.fates += 1;
                    self.counters.copied += 1;
                }
                Event::Decided { copy, fate, .. } if waiting.fates > 1 => {
                    waiting.fates -= 1;
                    let mut packet = pool.take();
                    packet.become_copy_of(&waiting.packet);
                    self.conclude(packet, copy, &fate);
                }
                Event::Decided { copy, fate, .. } => {
                    let last =
                        if is_current { current.take().map(|(_, last)| last) } else { self.waiting.remove(&number) };
                    let packet = last.expect("it was there").packet;
                    self.conclude(packet, copy, &fate);
                }
            }
        }
        self.events = events;
        self.waiting.extend(current);
    }

    fn conclude(&mut self, mut packet: Box<Packet>, copy: u16, fate: &Fate) {
        packet.record.copy = copy.min(u16::from(u8::MAX)) as u8;
        packet.record.queue_bytes = fate.queue_bytes as u32;
        packet.record.queue_packets = fate.queue_packets;
        match fate.verdict {
            Verdict::Deliver { due_ns } => {
                packet.record.due_ns = due_ns;
                self.turn += 1;
                packet.turn = self.turn;
                self.inside.push(due_ns, packet.turn, packet);
            }
            Verdict::Drop { stage, reason } => {
                packet.record.stage = stage as u8;
                self.drop_for(reason, packet);
            }
        }
    }

    fn drop_for(&mut self, reason: &str, mut packet: Box<Packet>) {
        packet.record.verdict = self.counters.drop_for(reason);
        self.dropped.push(packet);
    }

    /// When the next packet is due, or something is to be decided.
    pub fn next_ns(&self) -> Option<u64> {
        [self.inside.next_due_ns(), self.fates.next_event_ns()].into_iter().flatten().min()
    }

    /// Whether no packet is inside.
    pub fn is_empty(&self) -> bool {
        self.inside.is_empty() && self.waiting.is_empty()
    }

    /// The next packet that is due by `now_ns`.
    pub fn pop_due(&mut self, now_ns: u64) -> Option<Box<Packet>> {
        self.inside.pop_due(now_ns)
    }

    /// Takes back a packet for which the interface had no room.
    pub fn put_back(&mut self, packet: Box<Packet>) {
        self.inside.push(packet.record.due_ns, packet.turn, packet);
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

    /// Everything that is left, at the end: a record for each packet and each copy.
    pub fn drain(&mut self) -> Vec<Record> {
        let mut records: Vec<Record> = self.inside.drain().map(|packet| packet.record).collect();
        for (_, left) in std::mem::take(&mut self.waiting) {
            records.extend((0..left.fates).map(|_| left.packet.record));
        }
        records
    }

    /// The direction's part of the summary, with `queued` packets still inside.
    pub fn summary(&self, queued: u64) -> Value {
        self.counters.summary(queued, self.fates.max_queue_bytes())
    }
}

fn describe(headers: &Headers, size_bytes: u32) -> PacketInfo {
    let transport = match headers {
        _ if headers.is_udp() => Transport::Udp,
        _ if headers.is_tcp() => Transport::Tcp,
        _ if headers.is_icmp() => Transport::Icmp,
        _ => Transport::Other,
    };
    PacketInfo { size_bytes, transport, flow: headers.flow(), ecn: headers.ecn }
}
