//! The packets that wait at a bottleneck.

use std::collections::VecDeque;

use crate::stage::{Queue, Recipe, Transit};

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

    /// Returns this queue as the log records it for a packet that met it.
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

    /// Puts back packets that were taken from the front, in the order in which they were there.
    pub fn put_back(&mut self, packets: Vec<Transit>) {
        for packet in packets.into_iter().rev() {
            self.bytes += u64::from(packet.info.size_bytes);
            self.packets.push_front(packet);
        }
    }

    /// The packet whose turn it is.
    pub fn first(&self) -> Option<&Transit> {
        self.packets.front()
    }

    /// The packet that came last.
    pub fn last_mut(&mut self) -> Option<&mut Transit> {
        self.packets.back_mut()
    }

    pub fn load(&self) -> Load {
        Load { bytes: self.bytes, packets: self.packets.len() as u64 }
    }
}

/// The packets whose last bit has not left.
#[derive(Default)]
pub(crate) struct Backlog {
    sent: VecDeque<(u64, u32)>,
    bytes: u64,
}

impl Backlog {
    /// The bytes that are left at `now_ns`, after which nothing earlier may be asked for.
    pub fn bytes_at(&mut self, now_ns: u64) -> u64 {
        while let Some(&(sent_ns, size_bytes)) = self.sent.front() {
            if sent_ns > now_ns {
                break;
            }
            self.bytes -= u64::from(size_bytes);
            self.sent.pop_front();
        }
        self.bytes
    }

    /// As a packet finds it that comes then.
    pub fn met(&self, joined: bool) -> Queue {
        Queue { bytes: self.bytes, packets: self.packets() as u32, joined }
    }

    pub fn packets(&self) -> u64 {
        self.sent.len() as u64
    }

    pub fn add(&mut self, sent_ns: u64, size_bytes: u32) {
        self.sent.push_back((sent_ns, size_bytes));
        self.bytes += u64::from(size_bytes);
    }
}

pub(crate) fn limit_of(recipe: &Recipe<'_>) -> Limit {
    Limit { bytes: recipe.values.integer("queue_bytes"), packets: recipe.values.integer("queue_packets") }
}
