//! A bottleneck whose queue is managed by `CoDel`.

use crate::queue::backlog::{Fifo, Limit, Load, limit_of};
use crate::queue::codel_law::{Control, INTERVAL_NS, Law, TARGET_NS};
use crate::queue::parameters::{BURST_BYTES, EARLY, ECN, FULL, LIMIT_BYTES, RATE_BPS, limit_packets};
use crate::queue::transmitter::Transmitter;
use crate::queue::{Bottleneck, Discipline};
use crate::stage::{Built, Exit, Recipe, StageSpec, Transit};

pub(super) const SPEC: StageSpec = StageSpec {
    kind: "codel",
    law: "packets are sent at rate_bps; while they wait longer than target_ns, one is dropped or marked at its turn after interval_ns and then ever sooner (RFC 8289); one that does not fit the queue is dropped",
    parameters: &[RATE_BPS, LIMIT_BYTES, limit_packets(1_000), BURST_BYTES, TARGET_NS, INTERVAL_NS, ECN],
    drop_reasons: &[FULL, EARLY],
    check: |values, _| Law::check(values),
    bottleneck: true,
    build,
};

struct CoDel {
    law: Law,
    limit: Limit,
    queue: Fifo,
    control: Control,
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
        let joined = self.limit.holds(met.plus(Load::of(&packet))) || packet.is_spared();
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
