//! A firewall that lets nothing of a protocol through.

use crate::protocol::{PROTOCOL, Protocol};
use crate::stage::{Built, Outcome, Recipe, Stage, StageSpec, Transit, unconstrained};

const REASON: &str = "block";

pub(super) const SPEC: StageSpec = StageSpec {
    kind: REASON,
    law: "every packet of the protocol is dropped, in silence",
    parameters: &[PROTOCOL],
    drop_reasons: &[REASON],
    check: unconstrained,
    bottleneck: false,
    build,
};

struct Block {
    protocol: Protocol,
}

fn build(recipe: &Recipe<'_>) -> Built {
    Built::Instant(Box::new(Block { protocol: Protocol::of(recipe.values) }))
}

impl Stage for Block {
    fn pass(&mut self, packet: &mut Transit, _draw: u64) -> Outcome {
        packet.floor_ns = packet.at_ns;
        if self.protocol.includes(packet.info.transport) { Outcome::Drop(REASON) } else { Outcome::Pass }
    }
}
