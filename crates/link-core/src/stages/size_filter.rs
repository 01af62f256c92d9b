//! A middlebox that drops large packets of a protocol.

use crate::parameters::{Bounds, ParameterSpec};
use crate::protocol::{PROTOCOL, Protocol};
use crate::stage::{Built, Outcome, Recipe, Stage, StageSpec, Transit, unconstrained};

const REASON: &str = "size_filter";

pub(super) const SPEC: StageSpec = StageSpec {
    kind: REASON,
    law: "packets of the protocol that have minimum_bytes or more are dropped, in silence",
    parameters: &[
        PROTOCOL,
        ParameterSpec::new("minimum_bytes", "byte", Bounds::Integer(1, 65_536), "smallest IP packet that is dropped"),
    ],
    drop_reasons: &[REASON],
    check: unconstrained,
    bottleneck: false,
    build,
};

struct SizeFilter {
    protocol: Protocol,
    minimum_bytes: u64,
}

fn build(recipe: &Recipe<'_>) -> Built {
    Built::Instant(Box::new(SizeFilter {
        protocol: Protocol::of(recipe.values),
        minimum_bytes: recipe.values.integer("minimum_bytes"),
    }))
}

impl Stage for SizeFilter {
    fn pass(&mut self, packet: &mut Transit, _draw: u64) -> Outcome {
        packet.floor_ns = packet.at_ns;
        let large = u64::from(packet.info.size_bytes) >= self.minimum_bytes;
        let dropped = large && self.protocol.includes(packet.info.transport);
        if dropped { Outcome::Drop(REASON) } else { Outcome::Pass }
    }
}
