//! The packets that have arrived and not yet left.

use std::cmp::Ordering;
use std::collections::BinaryHeap;

struct Entry<T> {
    due_ns: u64,
    sequence: u64,
    packet: T,
}

impl<T> Entry<T> {
    fn key(&self) -> (u64, u64) {
        (self.due_ns, self.sequence)
    }
}

impl<T> PartialEq for Entry<T> {
    fn eq(&self, other: &Self) -> bool {
        self.key() == other.key()
    }
}

impl<T> Eq for Entry<T> {}

impl<T> PartialOrd for Entry<T> {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl<T> Ord for Entry<T> {
    /// Reversed: the standard heap gives its greatest entry first, and the earliest packet must come first.
    fn cmp(&self, other: &Self) -> Ordering {
        other.key().cmp(&self.key())
    }
}

/// Packets waiting for their time, given back in the order of (due time, sequence).
pub struct InFlight<T> {
    heap: BinaryHeap<Entry<T>>,
}

impl<T> Default for InFlight<T> {
    fn default() -> Self {
        Self { heap: BinaryHeap::new() }
    }
}

impl<T> InFlight<T> {
    /// Keep `packet` until `due_ns`. `sequence` orders packets that are due at the same time.
    pub fn push(&mut self, due_ns: u64, sequence: u64, packet: T) {
        self.heap.push(Entry { due_ns, sequence, packet });
    }

    /// When the next packet is due.
    #[must_use]
    pub fn next_due_ns(&self) -> Option<u64> {
        self.heap.peek().map(|entry| entry.due_ns)
    }

    /// The next packet that is due by `now_ns`.
    pub fn pop_due(&mut self, now_ns: u64) -> Option<T> {
        if self.next_due_ns()? > now_ns {
            return None;
        }
        self.heap.pop().map(|entry| entry.packet)
    }

    /// Everything that is left, in the order in which it would have gone.
    pub fn drain(&mut self) -> impl Iterator<Item = T> + '_ {
        std::iter::from_fn(|| self.heap.pop().map(|entry| entry.packet))
    }

    /// How many packets are inside.
    #[must_use]
    pub fn len(&self) -> usize {
        self.heap.len()
    }

    /// Whether nothing is inside.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.heap.is_empty()
    }
}
