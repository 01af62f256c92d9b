//! One direction of the router: the fates of its packets, those that wait, and what was counted.

use std::collections::BTreeMap;

use longlook_link_core::{
    Config, Direction, DirectionName, Edits, Event, Fate, InFlight, PacketInfo, Transport, Verdict,
};
use serde_json::Value;

use crate::counters::{Counters, OVERFLOW, OVERSIZE};
use crate::edit::{self, Side};
use crate::flows::Flows;
use crate::framing::Framing;
use crate::headers::{self, Headers};
use crate::icmp;
use crate::pool::{Packet, Pool};
use crate::ports::Received;
use crate::record::{DELIVERED, EDIT_CE, EDIT_ECN, EDIT_FORGIVEN, EDIT_HELD, EDIT_ICMP, Record};
use crate::translator::{Mapping, Translator};

const LATE_NS: u64 = 1_000_000;

/// Why a packet is dropped for whose port the NAT has no mapping; the reason of the stage `nat`.
const UNMAPPED: &str = "nat";

struct Unmapped;

/// A packet whose fate, or that of a copy of it, is not known yet.
struct Waiting {
    packet: Box<Packet>,
    fates: u32,
}

/// State that both directions use.
pub struct Shared {
    pub pool: Pool,
    pub flows: Flows,
    pub translator: Option<Translator>,
}

/// See the module.
pub struct Datapath {
    name: DirectionName,
    /// What stands before the IP header of a frame, and its length.
    framing: Framing,
    header_bytes: usize,
    fates: Direction,
    in_flight: InFlight<Box<Packet>>,
    waiting: BTreeMap<u64, Waiting>,
    /// Dropped packets with complete records, for the log.
    #[expect(clippy::vec_box, reason = "they go back to the pool")]
    pub dropped: Vec<Box<Packet>>,
    /// Frames that notify the sender of a packet that it was too big.
    pub replies: Vec<Vec<u8>>,
    pub counters: Counters,
    /// Number of the next packet in the log.
    sequence: u64,
    /// Number of the next packet in `fates`, which is not asked about those that cannot be moved.
    number: u64,
    turn: u64,
    events: Vec<Event>,
}

impl Datapath {
    pub fn new(config: &Config, name: DirectionName, framing: Framing) -> Self {
        let fates = config.direction(name);
        Self {
            name,
            framing,
            header_bytes: framing.header_bytes(),
            counters: Counters::new(fates.operations()),
            fates,
            in_flight: InFlight::default(),
            waiting: BTreeMap::new(),
            dropped: Vec::new(),
            replies: Vec::new(),
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

    /// Takes in an IP packet that was received into `packet.bytes`. `max_frame_bytes` is what the other interface can
    /// send.
    pub fn admit(&mut self, mut packet: Box<Packet>, received: &Received, max_frame_bytes: usize, shared: &mut Shared) {
        let size_bytes = (received.wire_length - self.header_bytes.min(received.wire_length)) as u32;
        packet.length = received.length;
        let headers = headers::parse(&packet.frame()[self.header_bytes..]);
        let record = Record::arrived(&headers, self.name == DirectionName::Up);
        packet.record = Record { arrival_ns: received.arrival_ns, sequence: self.sequence, size_bytes, ..record };
        packet.mapping = None;
        if let (Some(translator), true) = (&mut shared.translator, headers.is_udp()) {
            let client_port = packet.record.client_port;
            if self.name == DirectionName::Up {
                let epoch = translator.used(client_port, received.arrival_ns);
                packet.mapping = Some(Mapping { client_port, epoch });
            } else {
                packet.record.client_port = translator.owner(client_port, received.arrival_ns);
            }
        }
        shared.flows.note(&mut packet.record);
        self.counters.arrived += 1;
        self.counters.arrived_bytes += u64::from(size_bytes);
        self.sequence += 1;
        if received.wire_length > max_frame_bytes {
            return self.drop_for(OVERSIZE, packet);
        }
        if shared.pool.is_exhausted() {
            return self.drop_for(OVERFLOW, packet);
        }
        self.fates.arrive(received.arrival_ns, &describe(&headers, size_bytes), &mut self.events);
        let number = self.number;
        self.number += 1;
        self.settle(Some((number, Waiting { packet, fates: 1 })), shared);
    }

    /// Decides everything that is due by `now_ns`.
    pub fn advance(&mut self, now_ns: u64, shared: &mut Shared) {
        if self.fates.next_event_ns().is_some_and(|event_ns| event_ns <= now_ns) {
            self.fates.advance(now_ns, &mut self.events);
            self.settle(None, shared);
        }
    }

    /// Deals with what was decided, about the packet that has just come or others.
    fn settle(&mut self, mut current: Option<(u64, Waiting)>, shared: &mut Shared) {
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
                    let mut packet = shared.pool.take();
                    packet.become_copy_of(&waiting.packet);
                    self.conclude(packet, copy, &fate, &mut shared.translator);
                }
                Event::Decided { copy, fate, .. } => {
                    let last =
                        if is_current { current.take().map(|(_, last)| last) } else { self.waiting.remove(&number) };
                    let packet = last.expect("it was there").packet;
                    self.conclude(packet, copy, &fate, &mut shared.translator);
                }
            }
        }
        self.events = events;
        self.waiting.extend(current);
    }

    fn conclude(&mut self, mut packet: Box<Packet>, copy: u16, fate: &Fate, translator: &mut Option<Translator>) {
        packet.record.copy = copy.min(u16::from(u8::MAX)) as u8;
        packet.record.queue_bytes = fate.queue_bytes as u32;
        packet.record.queue_packets = fate.queue_packets;
        packet.record.queued_ns = fate.queued_ns;
        self.note_surgery(&mut packet.record, fate);
        match fate.verdict {
            Verdict::Deliver { due_ns } => {
                let Ok(port) = translator.as_mut().map_or(Ok(None), |it| self.translate(&mut packet, fate, due_ns, it))
                else {
                    return self.drop_for(UNMAPPED, packet);
                };
                let (length, ip) = (packet.length, self.header_bytes);
                if port.is_some() || fate.edits.corrupt != 0 {
                    self.framing.finish(&mut packet.bytes[..length]);
                }
                packet.record.edits |= edit::apply(&mut packet.bytes[ip..length], &fate.edits, port);
                packet.record.departure_ecn = left_with(&packet.record, &fate.edits);
                packet.record.due_ns = due_ns;
                self.turn += 1;
                packet.turn = self.turn;
                self.in_flight.push(due_ns, packet.turn, packet);
            }
            Verdict::Drop { stage, reason } => {
                packet.record.stage = stage as u8;
                if fate.edits.icmp_mtu > 0 {
                    let mut reply = icmp::too_big(packet.frame(), self.header_bytes, fate.edits.icmp_mtu);
                    if let Some(answer) = &mut reply {
                        self.framing.renew(answer);
                    }
                    packet.record.edits |= if reply.is_some() { EDIT_ICMP } else { 0 };
                    self.replies.extend(reply);
                }
                self.drop_for(reason, packet);
            }
        }
    }

    fn note_surgery(&mut self, record: &mut Record, fate: &Fate) {
        if fate.operated.forgiven {
            record.edits |= EDIT_FORGIVEN;
            self.counters.surgery_forgiven += 1;
        }
        if fate.operated.held_ns > 0 {
            record.edits |= EDIT_HELD;
            self.counters.surgery_held += 1;
        }
    }

    /// The change of port that the NAT makes to a packet that passes it; an error where it knows none.
    fn translate(
        &self,
        packet: &mut Packet,
        fate: &Fate,
        due_ns: u64,
        translator: &mut Translator,
    ) -> Result<Option<(Side, u16)>, Unmapped> {
        let headers = headers::parse(&packet.frame()[self.header_bytes..]);
        if !headers.is_udp() || headers.source_port == 0 {
            return Ok(None);
        }
        let (side, port) = match self.name {
            DirectionName::Up => {
                let forgotten = packet.mapping.map_or(0, |mapping| mapping.epoch);
                let epoch = fate.edits.nat_epoch.saturating_add(forgotten);
                (Side::Source, translator.outward(headers.source_port, epoch))
            }
            DirectionName::Down => {
                packet.mapping = translator.inward(headers.destination_port, due_ns);
                (Side::Destination, packet.mapping.map(|mapping| mapping.client_port))
            }
        };
        Ok(Some((side, port.ok_or(Unmapped)?)))
    }

    fn drop_for(&mut self, reason: &str, mut packet: Box<Packet>) {
        packet.record.verdict = self.counters.drop_for(reason);
        self.dropped.push(packet);
    }

    /// When the next packet is due, or something is to be decided.
    pub fn next_ns(&self) -> Option<u64> {
        [self.in_flight.next_due_ns(), self.fates.next_event_ns()].into_iter().flatten().min()
    }

    /// Whether no packet is in flight.
    pub fn is_empty(&self) -> bool {
        self.in_flight.is_empty() && self.waiting.is_empty()
    }

    /// The next packet that is due by `now_ns`; packets from the server whose port the NAT has forgotten are dropped.
    pub fn pop_due(&mut self, now_ns: u64, shared: &Shared) -> Option<Box<Packet>> {
        loop {
            let mut packet = self.in_flight.pop_due(now_ns)?;
            let due_ns = packet.record.due_ns;
            let is_kept = match (self.name, &shared.translator, packet.mapping) {
                (DirectionName::Down, Some(translator), Some(mapping)) => translator.is_kept(mapping, due_ns),
                _ => true,
            };
            if is_kept {
                return Some(packet);
            }
            (packet.record.due_ns, packet.record.departure_ecn) = (0, 0);
            self.drop_for(UNMAPPED, packet);
        }
    }

    /// Takes back a packet for which the interface had no room.
    pub fn put_back(&mut self, packet: Box<Packet>) {
        self.in_flight.push(packet.record.due_ns, packet.turn, packet);
    }

    /// Completes the record of a packet that left and returns how late it was, in nanoseconds.
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
        let mut records: Vec<Record> = self.in_flight.drain().map(|packet| packet.record).collect();
        for (_, left) in std::mem::take(&mut self.waiting) {
            records.extend((0..left.fates).map(|_| left.packet.record));
        }
        records
    }

    /// The direction's part of the summary, with `queued` packets still in flight.
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

/// The codepoint of a packet after the edits that were made.
fn left_with(record: &Record, edits: &Edits) -> u8 {
    const CE: u8 = 3;
    match edits.ecn {
        Some(ecn) if record.edits & EDIT_ECN != 0 => ecn,
        _ if record.edits & EDIT_CE != 0 => CE,
        _ => record.ecn,
    }
}
