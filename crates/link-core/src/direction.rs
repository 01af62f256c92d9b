//! One direction of the path.

use crate::config::{DirectionName, StageConfig};
use crate::stages::{Queue, Stage, Transit};
use crate::stream::Stream;

/// What becomes of a packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    /// It leaves at `due_ns`.
    Deliver {
        /// When it leaves, on the clock of the arrivals.
        due_ns: u64,
    },
    /// It is dropped by the stage of that index, for that reason.
    Drop {
        /// Index of the stage in its direction, from 0.
        stage: usize,
        /// `loss`, `queue`, …: as in [`crate::stages::StageSpec::drop_reason`].
        reason: &'static str,
    },
}

/// A packet's whole fate, known when it arrives.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Fate {
    /// Delivered when, or dropped why.
    pub verdict: Verdict,
    /// Bytes in the first rate stage's queue when the packet reached it, without the packet; 0 without such a stage.
    pub queue_bytes: u64,
    /// Packets in that queue.
    pub queue_packets: u32,
}

struct Slot {
    stage: Box<dyn Stage>,
    drop_reason: &'static str,
}

/// The stages of one direction and their state.
pub struct Direction {
    slots: Vec<Slot>,
    last_arrival_ns: u64,
    max_queue_bytes: u64,
}

impl Direction {
    /// Makes the stages of one direction; `stages` come from a [`crate::Config`], which has checked them.
    #[must_use]
    pub fn new(seed: u64, name: DirectionName, stages: &[StageConfig]) -> Self {
        let slots = stages
            .iter()
            .enumerate()
            .map(|(index, config)| {
                let same_kind = stages[..index].iter().filter(|earlier| earlier.spec.kind == config.spec.kind);
                let stream = Stream::new(seed, name, config.spec.kind, same_kind.count() as u16);
                Slot {
                    stage: (config.spec.build)(&config.values, stream),
                    drop_reason: config.spec.drop_reason.unwrap_or("drop"),
                }
            })
            .collect();
        Self { slots, last_arrival_ns: 0, max_queue_bytes: 0 }
    }

    /// Decides the fate of a packet of `size_bytes` (IP packet) that arrives at `now_ns`.
    ///
    /// Packets are taken in the order of the calls: a time before that of the packet before counts as that time.
    pub fn arrive(&mut self, now_ns: u64, size_bytes: u32) -> Fate {
        self.last_arrival_ns = self.last_arrival_ns.max(now_ns);
        let mut packet = Transit {
            at_ns: self.last_arrival_ns,
            floor_ns: self.last_arrival_ns,
            size_bytes,
            dropped: false,
            queue: None,
        };
        let mut drop = None;
        for (index, slot) in self.slots.iter_mut().enumerate() {
            if !slot.stage.pass(&mut packet) && !packet.dropped {
                packet.dropped = true;
                drop = Some(Verdict::Drop { stage: index, reason: slot.drop_reason });
            }
        }
        let queue = packet.queue.unwrap_or_default();
        self.note_queue(queue, size_bytes);
        Fate {
            verdict: drop.unwrap_or(Verdict::Deliver { due_ns: packet.at_ns }),
            queue_bytes: queue.bytes,
            queue_packets: queue.packets,
        }
    }

    /// The most bytes that were ever in the first rate stage's queue.
    #[must_use]
    pub fn max_queue_bytes(&self) -> u64 {
        self.max_queue_bytes
    }

    fn note_queue(&mut self, queue: Queue, size_bytes: u32) {
        if queue.joined {
            self.max_queue_bytes = self.max_queue_bytes.max(queue.bytes + u64::from(size_bytes));
        }
    }
}
