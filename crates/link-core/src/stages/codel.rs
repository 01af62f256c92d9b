//! A bottleneck whose queue is managed by `CoDel`.

use super::rate::{BURST_BYTES, FULL, NO_LIMIT, QUEUE_BYTES, RATE_BPS};
use super::{Built, Exit, Recipe, StageSpec, Transit};
use crate::bottleneck::{Bottleneck, Discipline, Fifo, Limit, Load};
use crate::codel::{Control, EARLY, ECN, INTERVAL_NS, Law, TARGET_NS};
use crate::parameters::{Bounds, Fallback, ParameterSpec};
use crate::transmitter::Transmitter;

pub(super) const LIMIT_BYTES: ParameterSpec = ParameterSpec::new(
    "queue_bytes",
    "byte",
    QUEUE_BYTES,
    "most that may be queued, the packet in transmission included",
)
.or(NO_LIMIT);

/// The most packets in a queue; disciplines differ in how many they have by default.
pub(super) const fn limit_packets(fallback: u64) -> ParameterSpec {
    ParameterSpec::new(
        "queue_packets",
        "packet",
        Bounds::Integer(1, u32::MAX as u64),
        "most packets that may be queued, the one in transmission included",
    )
    .or(Fallback::Integer(fallback))
}

pub(super) const SPEC: StageSpec = StageSpec {
    kind: "codel",
    law: "packets are sent at rate_bps; while they wait longer than target_ns, one is dropped or marked at its turn after interval_ns and then ever sooner (RFC 8289); one that does not fit the queue is dropped",
    parameters: &[RATE_BPS, LIMIT_BYTES, limit_packets(1_000), BURST_BYTES, TARGET_NS, INTERVAL_NS, ECN],
    drop_reasons: &[FULL, EARLY],
    check: |values, _| Law::check(values),
    build,
};

struct CoDel {
    law: Law,
    limit: Limit,
    queue: Fifo,
    control: Control,
}

pub(super) fn limit_of(recipe: &Recipe<'_>) -> Limit {
    Limit { bytes: recipe.values.integer("queue_bytes"), packets: recipe.values.integer("queue_packets") }
}

fn build(recipe: &Recipe<'_>) -> Built {
    let discipline = CoDel {
        law: Law::new(recipe.values),
        limit: limit_of(recipe),
        queue: Fifo::default(),
        control: Control::default(),
    };
    Built::Holding(Box::new(Bottleneck::new(Transmitter::new(recipe), discipline)))
}

impl Discipline for CoDel {
    fn enqueue(&mut self, mut packet: Transit, sending: Load, exits: &mut Vec<Exit>) {
        let met = self.queue.load().plus(sending);
        let joined = self.limit.holds(met.plus(Load::of(&packet)));
        packet.queue.get_or_insert(met.met(joined));
        if joined {
            self.queue.push(packet);
        } else {
            exits.push(Exit { packet, dropped: Some(FULL) });
        }
    }

    fn dequeue(&mut self, now_ns: u64, exits: &mut Vec<Exit>) -> Option<Transit> {
        self.control.dequeue(&self.law, now_ns, &mut self.queue, 0, exits)
    }

    fn waiting(&self) -> Load {
        self.queue.load()
    }
}
