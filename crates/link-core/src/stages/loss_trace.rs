//! Loss as it was recorded.

use crate::parameters::{Bounds, ParameterSpec};
use crate::stage::{Built, Outcome, Recipe, Stage, StageSpec, Transit, unconstrained};

const REASON: &str = "loss_trace";

pub(super) const SPEC: StageSpec = StageSpec {
    kind: REASON,
    law: "packet n of its direction, from 0, is dropped if digit n of the pattern is 1; the pattern loops",
    parameters: &[ParameterSpec::new(
        "pattern",
        "",
        Bounds::Bits,
        "a digit for each packet in the order of their arrival at the link: 1 lost, 0 not",
    )],
    drop_reasons: &[REASON],
    check: unconstrained,
    bottleneck: false,
    build,
};

struct LossTrace {
    /// A digit a byte, as it was written.
    pattern: Vec<u8>,
}

fn build(recipe: &Recipe<'_>) -> Built {
    Built::Instant(Box::new(LossTrace { pattern: recipe.values.text("pattern").as_bytes().to_vec() }))
}

impl Stage for LossTrace {
    fn pass(&mut self, packet: &mut Transit, _draw: u64) -> Outcome {
        packet.floor_ns = packet.at_ns;
        let digit = self.pattern[(packet.number % self.pattern.len() as u64) as usize];
        if digit == b'1' { Outcome::Drop(REASON) } else { Outcome::Pass }
    }
}
