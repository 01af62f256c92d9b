//! Duplication.

use crate::parameters::{Bounds, ParameterSpec, Varies};
use crate::stage::{Built, Outcome, Recipe, Stage, StageSpec, Transit, unconstrained};
use crate::stream::{Stream, unit};
use crate::varying::Varying;

pub(super) const SPEC: StageSpec = StageSpec {
    kind: "duplicate",
    law: "a packet is followed by a copy with the given probability; later stages draw for the copy itself",
    parameters: &[ParameterSpec::new("probability", "1", Bounds::Number(0.0, 1.0), "share of packets that get a copy")
        .varying(Varies::WithTime)],
    drop_reasons: &[],
    check: unconstrained,
    bottleneck: false,
    build,
};

struct Duplicate {
    probability: Varying,
    stream: Stream,
}

fn build(recipe: &Recipe<'_>) -> Built {
    Built::Instant(Box::new(Duplicate { probability: recipe.varying("probability"), stream: recipe.stream() }))
}

impl Stage for Duplicate {
    fn draw(&mut self, _at_ns: u64) -> u64 {
        self.stream.bits()
    }

    fn pass(&mut self, packet: &mut Transit, draw: u64) -> Outcome {
        packet.floor_ns = packet.at_ns;
        if unit(draw) < self.probability.at(packet.at_ns) { Outcome::PassTwice } else { Outcome::Pass }
    }
}
