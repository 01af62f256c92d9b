//! A bottleneck whose queue follows a discipline: a rate behind an AQM.
//!
//! The discipline is asked for a packet when the transmitter can begin to send one, and decides then; so a packet's
//! fate is known when its transmission begins, and the time of its last bit with it.

use std::collections::VecDeque;

use crate::stages::{Exit, Holder, Queue, Transit};
use crate::transmitter::Transmitter;

/// Packets and their bytes.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Load {
    pub bytes: u64,
    pub packets: u64,
}

impl Load {
    pub fn of(packet: &Transit) -> Self {
        Self { bytes: u64::from(packet.info.size_bytes), packets: 1 }
    }

    pub fn plus(self, other: Self) -> Self {
        Self { bytes: self.bytes + other.bytes, packets: self.packets + other.packets }
    }

    pub fn minus(self, other: Self) -> Self {
        Self { bytes: self.bytes - other.bytes, packets: self.packets - other.packets }
    }

    /// What the log will say of a packet that met this queue.
    pub fn met(self, joined: bool) -> Queue {
        Queue { bytes: self.bytes, packets: self.packets as u32, joined }
    }
}

/// The most that may be in a queue, the packet in transmission included.
pub(crate) type Limit = Load;

impl Limit {
    pub fn holds(self, load: Load) -> bool {
        load.bytes <= self.bytes && load.packets <= self.packets
    }
}

/// Packets that wait, first in, first out. Meanwhile `at_ns` of each is when it came.
#[derive(Default)]
pub(crate) struct Fifo {
    packets: VecDeque<Transit>,
    bytes: u64,
}

impl Fifo {
    pub fn push(&mut self, packet: Transit) {
        self.bytes += u64::from(packet.info.size_bytes);
        self.packets.push_back(packet);
    }

    pub fn pop(&mut self) -> Option<Transit> {
        let packet = self.packets.pop_front()?;
        self.bytes -= u64::from(packet.info.size_bytes);
        Some(packet)
    }

    /// The packet that came last.
    pub fn last_mut(&mut self) -> Option<&mut Transit> {
        self.packets.back_mut()
    }

    pub fn load(&self) -> Load {
        Load { bytes: self.bytes, packets: self.packets.len() as u64 }
    }
}

/// Which packets a queue takes, gives and drops. Dropped ones go to `exits`.
pub(crate) trait Discipline: Send {
    /// Takes a packet that comes at `packet.at_ns`, or drops it or others for want of room, and notes in it the queue
    /// that it met, unless it has met one before. `sending` is in transmission and counts as queued.
    fn enqueue(&mut self, packet: Transit, sending: Load, exits: &mut Vec<Exit>);

    /// Gives the packet to send now, as it came in but for its edits; none only if none waits any more.
    fn dequeue(&mut self, now_ns: u64, exits: &mut Vec<Exit>) -> Option<Transit>;

    /// What waits, without the packet in transmission.
    fn waiting(&self) -> Load;
}

/// A transmitter and the queue before it.
pub(crate) struct Bottleneck<D> {
    transmitter: Transmitter,
    discipline: D,
    /// The packet sent last.
    last: Load,
    /// When its last bit has left.
    last_sent_ns: u64,
    /// When the transmitter can begin with another one.
    ready_ns: u64,
}

impl<D: Discipline> Bottleneck<D> {
    pub fn new(transmitter: Transmitter, discipline: D) -> Self {
        Self { transmitter, discipline, last: Load::default(), last_sent_ns: 0, ready_ns: 0 }
    }

    fn is_empty(&self) -> bool {
        self.discipline.waiting().packets == 0
    }

    fn send(&mut self, now_ns: u64, exits: &mut Vec<Exit>) {
        while self.ready_ns <= now_ns && !self.is_empty() {
            let Some(mut packet) = self.discipline.dequeue(now_ns, exits) else { break };
            self.last = Load::of(&packet);
            // From when it came, not from now: `now_ns` is rounded up, and over many packets that would cost rate.
            packet.leave(self.transmitter.send(packet.at_ns, packet.info.size_bytes));
            self.last_sent_ns = packet.at_ns;
            self.ready_ns = self.transmitter.ready_ns(self.last_sent_ns);
            exits.push(Exit { packet, dropped: None });
        }
    }
}

impl<D: Discipline> Holder for Bottleneck<D> {
    fn enter(&mut self, packet: Transit, _draw: u64, exits: &mut Vec<Exit>) {
        let now_ns = packet.at_ns;
        if self.is_empty() {
            if self.ready_ns <= now_ns {
                // The transmitter has asked in vain since. What that does to the discipline is the same at any time,
                // so that it needs no event of its own.
                let none = self.discipline.dequeue(now_ns, exits);
                debug_assert!(none.is_none(), "nothing was waiting");
            }
            self.ready_ns = self.transmitter.ready_ns(self.ready_ns.max(now_ns));
        }
        let sending = if self.last_sent_ns > now_ns { self.last } else { Load::default() };
        self.discipline.enqueue(packet, sending, exits);
        self.send(now_ns, exits);
    }

    fn next_ns(&self) -> Option<u64> {
        (!self.is_empty()).then_some(self.ready_ns)
    }

    fn serve(&mut self, now_ns: u64, exits: &mut Vec<Exit>) {
        self.send(now_ns, exits);
    }
}

const NOT_CAPABLE: u8 = 0;
const EXPERIENCED: u8 = 3;

/// Whether a mark in its header can tell of congestion (RFC 3168); other packets must be dropped for that.
pub(crate) fn can_be_marked(packet: &Transit) -> bool {
    packet.info.ecn != NOT_CAPABLE
}

/// Has it marked; one that came with a mark needs no other.
pub(crate) fn mark(packet: &mut Transit) {
    packet.edits.mark_ce |= packet.info.ecn != EXPERIENCED;
}
