//! Independent (Bernoulli) loss.

use crate::parameters::{Bounds, ParameterSpec, Varies};
use crate::size_condition::{ABOVE_BYTES, SizeCondition};
use crate::stage::{Built, Outcome, Recipe, Stage, StageSpec, Transit, unconstrained};
use crate::stream::{Stream, unit};
use crate::varying::Varying;

const REASON: &str = "loss";

pub(super) const SPEC: StageSpec = StageSpec {
    kind: "loss",
    law: "each packet above the size is dropped with the given probability, independently of all others",
    parameters: &[
        ParameterSpec::new("probability", "1", Bounds::Number(0.0, 1.0), "share of packets that are lost")
            .varying(Varies::WithTime),
        ABOVE_BYTES,
    ],
    drop_reasons: &[REASON],
    check: unconstrained,
    bottleneck: false,
    build,
};

struct Loss {
    probability: Varying,
    concerned: SizeCondition,
    stream: Stream,
}

fn build(recipe: &Recipe<'_>) -> Built {
    Built::Instant(Box::new(Loss {
        probability: recipe.varying("probability"),
        concerned: SizeCondition::of(recipe.values),
        stream: recipe.stream(),
    }))
}

impl Stage for Loss {
    fn draw(&mut self, _at_ns: u64) -> u64 {
        self.stream.bits()
    }

    fn pass(&mut self, packet: &mut Transit, draw: u64) -> Outcome {
        packet.floor_ns = packet.at_ns;
        // `unit` never reaches 1, so a probability of 1 drops every packet and one of 0 none.
        let lost = self.concerned.holds(packet) && unit(draw) < self.probability.at(packet.at_ns);
        if lost { Outcome::Drop(REASON) } else { Outcome::Pass }
    }
}
