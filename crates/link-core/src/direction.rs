//! One direction of the path.
//!
//! Stages that decide at once are run through when a packet arrives. Where a stage must see packets in the order of
//! time and those before it do not keep it, or where a stage holds packets, a new segment begins: packets wait at its
//! gate until their time has come. All times inside are link time, and events are worked off in their order, so that
//! what is decided does not depend on how often or how late the caller asks.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::ops::Range;

use smallvec::SmallVec;

use crate::packet::{DirectionName, Event, Fate, Operated, PacketInfo, Verdict};
use crate::stage::{Built, Exit, Holder, Order, Outcome, Recipe, Stage, StageConfig, Transit};
use crate::surgery::{self, Operations};

struct Segment {
    gate: BinaryHeap<Reverse<Gated>>,
    keeper: Option<Keeper>,
    /// The slots that a packet runs through after it.
    slots: Range<usize>,
}

/// A stage that holds packets.
struct Keeper {
    /// Its index in the configuration.
    stage: usize,
    /// Which of a packet's draws is its own.
    draw: usize,
    holder: Box<dyn Holder>,
}

/// A packet at a gate, in the order of (time, order of coming).
struct Gated {
    at_ns: u64,
    turn: u64,
    packet: Transit,
}

impl PartialEq for Gated {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other).is_eq()
    }
}

impl Eq for Gated {}

impl PartialOrd for Gated {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Gated {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        (self.at_ns, self.turn).cmp(&(other.at_ns, other.turn))
    }
}

/// The stages of one direction and their state.
pub struct Direction {
    /// The stages that decide at once, with their indexes in the configuration.
    slots: Vec<(usize, Box<dyn Stage>)>,
    segments: Vec<Segment>,
    /// Operations on single packets, and the index of the stage that lists them.
    operations: Operations,
    surgery: usize,
    origin_ns: Option<u64>,
    now_ns: u64,
    arrived: u64,
    turns: u64,
    max_queue_bytes: u64,
    exits: Vec<Exit>,
}

impl Direction {
    /// Makes the stages of one direction; `stages` come from a [`crate::Config`], which has checked them.
    #[must_use]
    pub fn new(seed: u64, name: DirectionName, stages: &[StageConfig]) -> Self {
        let (mut slots, mut segments) = (Vec::new(), Vec::new());
        let mut current = segment(0, None);
        let mut ordered = true;
        for (index, config) in stages.iter().enumerate() {
            let same_kind = stages[..index].iter().filter(|earlier| earlier.spec.kind == config.spec.kind);
            let recipe = Recipe {
                values: &config.values,
                seed,
                direction: name,
                spec: config.spec,
                occurrence: same_kind.count() as u16,
                bottlenecks: stages[..index].iter().filter(|earlier| earlier.spec.bottleneck).count() as u16,
            };
            match (config.spec.build)(&recipe) {
                Built::Holding(holder) => {
                    let keeper = Keeper { stage: index, draw: 0, holder };
                    segments.push(std::mem::replace(&mut current, segment(slots.len(), Some(keeper))));
                    ordered = true;
                }
                Built::Instant(stage) => {
                    if stage.needs_order() && !ordered {
                        segments.push(std::mem::replace(&mut current, segment(slots.len(), None)));
                        ordered = true;
                    }
                    ordered = match stage.order() {
                        Order::Keeps => ordered,
                        Order::Breaks => false,
                        Order::Restores => true,
                    };
                    slots.push((index, stage));
                    current.slots.end = slots.len();
                }
            }
        }
        segments.push(current);
        let keepers = segments.iter_mut().filter_map(|segment| segment.keeper.as_mut());
        keepers.zip(slots.len()..).for_each(|(keeper, draw)| keeper.draw = draw);
        let surgery = stages.iter().position(|config| config.spec.kind == surgery::KIND);
        Self {
            slots,
            segments,
            operations: surgery.map_or_else(Operations::default, |index| Operations::of(&stages[index].values)),
            surgery: surgery.unwrap_or_default(),
            origin_ns: None,
            now_ns: 0,
            arrived: 0,
            turns: 0,
            max_queue_bytes: 0,
            exits: Vec::new(),
        }
    }

    /// Sets link time 0, on the clock of the arrivals; without it, that is the first arrival here.
    ///
    /// Both directions of a link share one, so that what changes with time changes in both.
    pub fn begin(&mut self, origin_ns: u64) {
        self.origin_ns.get_or_insert(origin_ns);
    }

    /// Takes in a packet that arrives at `now_ns`; its number is the count of those before it. What is decided by
    /// then, about this packet or others, is added to `events`.
    ///
    /// Packets are taken in the order of the calls: a time before that of the last call counts as that time.
    pub fn arrive(&mut self, now_ns: u64, info: &PacketInfo, events: &mut Vec<Event>) {
        self.begin(now_ns);
        self.advance(now_ns, events);
        let at_ns = self.now_ns;
        let (number, operation) = (self.arrived, self.operations.on(self.arrived));
        let mut packet = Transit { number, at_ns, floor_ns: at_ns, info: *info, operation, ..Transit::default() };
        self.arrived += 1;
        packet.draws.extend(self.slots.iter_mut().map(|(_, stage)| stage.draw(at_ns)));
        for keeper in self.segments.iter_mut().filter_map(|segment| segment.keeper.as_mut()) {
            packet.draws.push(keeper.holder.draw(at_ns));
        }
        self.run(0, 0, &mut packet, events);
        if self.segments.len() > 1 {
            self.advance(now_ns, events);
        }
    }

    /// Works off everything that is due by `now_ns`.
    pub fn advance(&mut self, now_ns: u64, events: &mut Vec<Event>) {
        let until_ns = now_ns.saturating_sub(self.origin_ns.unwrap_or(now_ns)).max(self.now_ns);
        while let Some((at_ns, segment)) = self.next_inside().filter(|(at_ns, _)| *at_ns <= until_ns) {
            self.now_ns = at_ns.max(self.now_ns);
            self.step(at_ns, segment, events);
        }
        self.now_ns = until_ns;
    }

    /// When something is to be decided next, on the clock of the arrivals.
    #[must_use]
    pub fn next_event_ns(&self) -> Option<u64> {
        Some(self.next_inside()?.0 + self.origin_ns?)
    }

    /// How many packets surgery names; one that two operations name counts twice.
    #[must_use]
    pub fn operations(&self) -> u64 {
        self.operations.packets()
    }

    /// The most bytes that were ever in the first bottleneck's queue.
    #[must_use]
    pub fn max_queue_bytes(&self) -> u64 {
        self.max_queue_bytes
    }

    /// The earliest event and its segment; of simultaneous ones, that nearest to the sender.
    fn next_inside(&self) -> Option<(u64, usize)> {
        if self.segments.len() == 1 {
            return None;
        }
        let times = self.segments.iter().enumerate().filter_map(|(index, segment)| {
            let gate_ns = segment.gate.peek().map(|gated| gated.0.at_ns);
            let holder_ns = segment.keeper.as_ref().and_then(|keeper| keeper.holder.next_ns());
            Some(([gate_ns, holder_ns].into_iter().flatten().min()?, index))
        });
        times.min()
    }

    /// Does what is due in one segment: what its holder has to do goes before what comes in at the same time, so that
    /// a packet whose last bit has left makes room for the one that comes.
    fn step(&mut self, at_ns: u64, index: usize, events: &mut Vec<Event>) {
        let segment = &mut self.segments[index];
        let first = segment.slots.start;
        let Some(keeper) = &mut segment.keeper else {
            let Some(Reverse(mut gated)) = segment.gate.pop() else { unreachable!("its time came from there") };
            return self.run(index, first, &mut gated.packet, events);
        };
        let stage = keeper.stage;
        let mut exits = std::mem::take(&mut self.exits);
        if keeper.holder.next_ns() == Some(at_ns) {
            keeper.holder.serve(at_ns, &mut exits);
        } else {
            let Some(Reverse(gated)) = segment.gate.pop() else { unreachable!("its time came from there") };
            let draw = gated.packet.draws[keeper.draw];
            keeper.holder.enter(gated.packet, draw, &mut exits);
        }
        for mut exit in exits.drain(..) {
            match exit.dropped {
                Some(reason) => self.drop_packet(&exit.packet, stage, reason, events),
                None => self.run(index, first, &mut exit.packet, events),
            }
        }
        self.exits = exits;
    }

    /// Shows a packet to the slots of a segment from `slot` on, and hands it on.
    fn run(&mut self, index: usize, slot: usize, packet: &mut Transit, events: &mut Vec<Event>) {
        let mut copies: SmallVec<[(usize, Transit); 0]> = SmallVec::new();
        for slot in slot..self.segments[index].slots.end {
            let (stage, decider) = &mut self.slots[slot];
            let draw = packet.draws[slot];
            match decider.pass(packet, draw) {
                Outcome::Pass => {}
                // Its sender is not notified of a drop that does not happen.
                Outcome::Drop(_) if packet.is_spared() => packet.edits.icmp_mtu = 0,
                Outcome::Drop(reason) => {
                    let stage = *stage;
                    self.drop_packet(packet, stage, reason, events);
                    // Copies are made before: those of this packet go on without it.
                    return self.run_copies(index, copies, events);
                }
                Outcome::PassTwice => copies.push((slot + 1, self.copy(packet, events))),
            }
        }
        if index + 1 < self.segments.len() {
            self.turns += 1;
            let gated = Gated { at_ns: packet.at_ns, turn: self.turns, packet: std::mem::take(packet) };
            self.segments[index + 1].gate.push(Reverse(gated));
        } else {
            let due_ns = packet.at_ns + packet.operation.hold_ns + self.origin_ns.unwrap_or(0);
            self.decide(packet, Verdict::Deliver { due_ns }, events);
        }
        self.run_copies(index, copies, events);
    }

    fn run_copies(&mut self, index: usize, copies: SmallVec<[(usize, Transit); 0]>, events: &mut Vec<Event>) {
        for (slot, mut copy) in copies {
            self.run(index, slot, &mut copy, events);
        }
    }

    /// A copy with draws of its own, which disturb no stream.
    ///
    /// A packet that has been copied before is numbered and redrawn by another power of two, so that no two copies of a packet
    /// have the same number or the same draws.
    fn copy(&mut self, packet: &mut Transit, events: &mut Vec<Event>) -> Transit {
        events.push(Event::Copied { number: packet.number });
        let times = 1_u16 << packet.copied;
        packet.copied += 1;
        let mut copy = Transit { copy: packet.copy + times, ..packet.clone() };
        for ((_, stage), draw) in self.slots.iter().zip(&mut copy.draws) {
            *draw = (0..times).fold(*draw, |draw, _| stage.redraw(draw));
        }
        for keeper in self.segments.iter().filter_map(|segment| segment.keeper.as_ref()) {
            let draw = &mut copy.draws[keeper.draw];
            *draw = (0..times).fold(*draw, |draw, _| keeper.holder.redraw(draw));
        }
        copy
    }

    fn drop_packet(&mut self, packet: &Transit, stage: usize, reason: &'static str, events: &mut Vec<Event>) {
        let surgically = packet.operation.drop;
        let (stage, reason) = if surgically { (self.surgery, surgery::KIND) } else { (stage, reason) };
        self.decide(packet, Verdict::Drop { stage, reason }, events);
    }

    fn decide(&mut self, packet: &Transit, verdict: Verdict, events: &mut Vec<Event>) {
        let queue = packet.queue.unwrap_or_default();
        if queue.joined {
            self.max_queue_bytes = self.max_queue_bytes.max(queue.bytes + u64::from(packet.info.size_bytes));
        }
        let held_ns = if matches!(verdict, Verdict::Deliver { .. }) { packet.operation.hold_ns } else { 0 };
        let fate = Fate {
            verdict,
            queue_bytes: queue.bytes,
            queue_packets: queue.packets,
            queued_ns: packet.queued_ns,
            edits: packet.edits,
            operated: Operated { forgiven: packet.forgiven, held_ns },
        };
        events.push(Event::Decided { number: packet.number, copy: packet.copy, fate });
    }
}

fn segment(first_slot: usize, keeper: Option<Keeper>) -> Segment {
    Segment { gate: BinaryHeap::new(), keeper, slots: first_slot..first_slot }
}
