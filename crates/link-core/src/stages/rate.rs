//! A bottleneck: a rate behind a drop-tail queue.

use crate::parameters::{Bounds, ParameterSpec, Varies};
use crate::queue::backlog::Backlog;
use crate::queue::parameters::{BURST_BYTES, FULL, NO_LIMIT, QUEUE_BYTES, RATE_BPS};
use crate::queue::transmitter::Transmitter;
use crate::stage::{Built, Outcome, Recipe, Stage, StageSpec, Transit, unconstrained};
use crate::varying::Varying;

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
    bottleneck: true,
    build,
};

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
        let fits = waiting_bytes + u64::from(size_bytes) <= self.limit_bytes.whole_at(packet.at_ns)
            && self.backlog.packets() < self.limit_packets.whole_at(packet.at_ns);
        let joined = fits || packet.is_spared();
        packet.queue.get_or_insert(self.backlog.met(joined));
        if !joined {
            return Outcome::Drop(FULL);
        }
        self.transmitter.forward(packet);
        self.backlog.add(packet.at_ns, size_bytes);
        Outcome::Pass
    }

    fn needs_order(&self) -> bool {
        true
    }
}
