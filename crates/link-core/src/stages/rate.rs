//! A bottleneck: a rate behind a drop-tail queue.

use std::collections::VecDeque;

use super::{Built, Outcome, Queue, Recipe, Stage, StageSpec, Transit, unconstrained};
use crate::parameters::{Bounds, Fallback, ParameterSpec, Varies};
use crate::transmitter::Transmitter;
use crate::varying::Varying;

/// Why a packet is dropped for which a queue has no room.
pub(crate) const FULL: &str = "queue";
/// Below one full packet the link would silently pass nothing but small ones.
pub(crate) const QUEUE_BYTES: Bounds = Bounds::Integer(1_500, u32::MAX as u64);
pub(crate) const NO_LIMIT: Fallback = Fallback::Integer(u32::MAX as u64);

/// The rate of a bottleneck, the same for every kind.
pub(crate) const RATE_BPS: ParameterSpec = ParameterSpec::new(
    "rate_bps",
    "bit/s",
    Bounds::Integer(1_000, 1_000_000_000_000),
    "rate of IP packets, without link-layer framing",
)
.varying(Varies::AsRate);

/// The bucket of a bottleneck, the same for every kind.
pub(crate) const BURST_BYTES: ParameterSpec = ParameterSpec::new(
    "burst_bytes",
    "byte",
    Bounds::Integer(0, u32::MAX as u64),
    "what may leave at once after a pause: the depth of a token bucket, full at the start",
)
.or(Fallback::Integer(0));

pub(super) const SPEC: StageSpec = StageSpec {
    kind: "rate",
    law: "packets are sent one after the other at rate_bps; one that does not fit what is left of the queue is dropped",
    parameters: &[
        RATE_BPS,
        ParameterSpec::new(
            "queue_bytes",
            "byte",
            QUEUE_BYTES,
            "most that may be queued, the packet in transmission included",
        )
        .varying(Varies::WithTime)
        .or(NO_LIMIT),
        ParameterSpec::new(
            "queue_packets",
            "packet",
            Bounds::Integer(1, u32::MAX as u64),
            "most packets that may be queued, the one in transmission included",
        )
        .varying(Varies::WithTime)
        .or(NO_LIMIT),
        BURST_BYTES,
    ],
    drop_reasons: &[FULL],
    check: unconstrained,
    build,
};

/// The packets whose last bit has not left.
#[derive(Default)]
pub(super) struct Backlog {
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

struct Rate {
    transmitter: Transmitter,
    limit_bytes: Varying,
    limit_packets: Varying,
    backlog: Backlog,
}

fn build(recipe: &Recipe<'_>) -> Built {
    Built::Instant(Box::new(Rate {
        transmitter: Transmitter::new(recipe),
        limit_bytes: recipe.varying("queue_bytes"),
        limit_packets: recipe.varying("queue_packets"),
        backlog: Backlog::default(),
    }))
}

impl Stage for Rate {
    fn pass(&mut self, packet: &mut Transit, _draw: u64) -> Outcome {
        let size_bytes = packet.info.size_bytes;
        let waiting_bytes = self.backlog.bytes_at(packet.at_ns);
        let joined = waiting_bytes + u64::from(size_bytes) <= self.limit_bytes.whole_at(packet.at_ns)
            && self.backlog.packets() < self.limit_packets.whole_at(packet.at_ns);
        packet.queue.get_or_insert(self.backlog.met(joined));
        if !joined {
            return Outcome::Drop(FULL);
        }
        packet.leave(self.transmitter.send(packet.at_ns, size_bytes));
        self.backlog.add(packet.at_ns, size_bytes);
        Outcome::Pass
    }

    fn needs_order(&self) -> bool {
        true
    }
}
