//! A bottleneck whose queue follows a discipline: a rate behind an AQM.
//!
//! The discipline is asked for a packet when the transmitter can begin to send one, and decides then; so a packet's
//! fate is known when its transmission begins, and the time of its last bit with it.

pub(crate) mod backlog;
pub(crate) mod codel_law;
pub(crate) mod marking;
pub(crate) mod parameters;
pub(crate) mod pi2_law;
pub(crate) mod transmitter;

use crate::queue::backlog::Load;
use crate::queue::transmitter::Transmitter;
use crate::stage::{Exit, Holder, Transit};

/// Which packets a queue takes, gives and drops. Dropped ones go to `exits`.
pub(crate) trait Discipline: Send {
    /// The randomness of a packet that arrives at the link, as [`Holder::draw`]; it comes back as `packet.draw`.
    fn draw(&mut self) -> u64 {
        0
    }

    /// Takes a packet that comes at `packet.at_ns`, or drops it or others for want of room, and notes in it the queue
    /// that it met, unless it has met one before. `sending` is in transmission and counts as queued.
    fn enqueue(&mut self, packet: Transit, sending: Load, exits: &mut Vec<Exit>);

    /// Gives the packet to send now, as it came in but for its edits; none only if none waits any more.
    fn dequeue(&mut self, now_ns: u64, exits: &mut Vec<Exit>) -> Option<Transit>;

    /// Returns the load that waits, without the packet in transmission.
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
            self.transmitter.forward(&mut packet);
            self.last_sent_ns = packet.at_ns;
            self.ready_ns = self.transmitter.ready_ns(self.last_sent_ns);
            exits.push(Exit { packet, dropped: None });
        }
    }
}

impl<D: Discipline> Holder for Bottleneck<D> {
    fn draw(&mut self, _at_ns: u64) -> u64 {
        self.discipline.draw()
    }

    fn enter(&mut self, mut packet: Transit, draw: u64, exits: &mut Vec<Exit>) {
        packet.draw = draw;
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
