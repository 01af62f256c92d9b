//! One direction of a link with what is on it.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};

use longlook_link_core::{Direction, Edits, Event, PacketInfo, Verdict};

/// What has become of the packets so far.
#[derive(Debug, Default)]
pub struct Counts {
    pub arrived: u64,
    pub copied: u64,
    pub delivered: u64,
    pub dropped: BTreeMap<&'static str, u64>,
    pub corrupted: u64,
    pub marked: u64,
    pub reported_mtu: u64,
    pub last_epoch: u32,
    pub max_queue_bytes: u64,
}

/// A packet that comes out.
pub struct Delivery<P> {
    pub packet: P,
    pub edits: Edits,
}

/// A direction and its packets, which are numbered as they arrive.
pub struct Channel<P> {
    direction: Direction,
    packets: Vec<P>,
    /// Due time, turn, number of the packet, and what was changed in it.
    leaving: BinaryHeap<Reverse<(u64, u64, u64)>>,
    edits: Vec<Edits>,
    events: Vec<Event>,
    /// MTUs that were reported to the sender since it was last asked.
    reported_mtu: Option<u32>,
    pub counts: Counts,
}

impl<P: Clone> Channel<P> {
    pub fn new(direction: Direction) -> Self {
        Self {
            direction,
            packets: Vec::new(),
            leaving: BinaryHeap::new(),
            edits: Vec::new(),
            events: Vec::new(),
            reported_mtu: None,
            counts: Counts::default(),
        }
    }

    /// Link time 0 is 0 here, whatever comes first.
    pub fn send(&mut self, now_ns: u64, info: &PacketInfo, packet: P) {
        self.direction.begin(0);
        self.packets.push(packet);
        self.counts.arrived += 1;
        self.direction.arrive(now_ns, info, &mut self.events);
        self.take_events();
    }

    fn take_events(&mut self) {
        for event in self.events.drain(..) {
            let Event::Decided { number, fate, .. } = event else {
                self.counts.copied += 1;
                continue;
            };
            let edits = fate.edits;
            match fate.verdict {
                Verdict::Deliver { due_ns } => {
                    self.leaving.push(Reverse((due_ns, self.edits.len() as u64, number)));
                    self.edits.push(edits);
                    self.counts.corrupted += u64::from(edits.corrupt != 0);
                    self.counts.marked += u64::from(edits.mark_ce);
                    self.counts.last_epoch = self.counts.last_epoch.max(edits.nat_epoch);
                }
                Verdict::Drop { reason, .. } => {
                    *self.counts.dropped.entry(reason).or_default() += 1;
                    if edits.icmp_mtu > 0 {
                        self.counts.reported_mtu += 1;
                        self.reported_mtu = Some(edits.icmp_mtu);
                    }
                }
            }
        }
    }

    /// When something is to be done.
    pub fn next_ns(&self) -> Option<u64> {
        let leaving_ns = self.leaving.peek().map(|Reverse((due_ns, ..))| *due_ns);
        [leaving_ns, self.direction.next_event_ns()].into_iter().flatten().min()
    }

    /// Works off what is due and gives one packet that leaves, if there is one.
    pub fn pop(&mut self, now_ns: u64) -> Option<Delivery<P>> {
        self.direction.advance(now_ns, &mut self.events);
        self.take_events();
        let Reverse((_, turn, number)) = *self.leaving.peek().filter(|Reverse((due_ns, ..))| *due_ns <= now_ns)?;
        self.leaving.pop();
        self.counts.delivered += 1;
        Some(Delivery { packet: self.packets[number as usize].clone(), edits: self.edits[turn as usize] })
    }

    /// The last MTU that an ICMP message reported.
    pub fn take_reported_mtu(&mut self) -> Option<u32> {
        self.reported_mtu.take()
    }

    /// Lets everything out and checks the books.
    pub fn close(mut self) -> Counts {
        while let Some(next_ns) = self.next_ns() {
            self.pop(next_ns);
        }
        let dropped: u64 = self.counts.dropped.values().sum();
        assert_eq!(self.counts.arrived + self.counts.copied, self.counts.delivered + dropped);
        self.counts.max_queue_bytes = self.direction.max_queue_bytes();
        self.counts
    }
}
