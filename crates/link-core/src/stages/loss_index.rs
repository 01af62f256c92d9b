//! Loss of chosen packets: those with these numbers in their direction.

use crate::parameters::{Bounds, ParameterSpec};
use crate::stage::{Built, Outcome, Recipe, Stage, StageSpec, Transit, unconstrained};

const REASON: &str = "loss_index";

pub(super) const SPEC: StageSpec = StageSpec {
    kind: REASON,
    law: "exactly the packets with these numbers are dropped, and the copies made of them before",
    parameters: &[ParameterSpec::new(
        "indexes",
        "packet",
        Bounds::Integers,
        "numbers of packets in their direction, from 0: `sequence` in the log",
    )],
    drop_reasons: &[REASON],
    check: unconstrained,
    bottleneck: false,
    build,
};

struct LossIndex {
    /// Increasing.
    indexes: Vec<u64>,
}

fn build(recipe: &Recipe<'_>) -> Built {
    Built::Instant(Box::new(LossIndex { indexes: recipe.values.integers("indexes").to_vec() }))
}

impl Stage for LossIndex {
    fn pass(&mut self, packet: &mut Transit, _draw: u64) -> Outcome {
        packet.floor_ns = packet.at_ns;
        let chosen = self.indexes.binary_search(&packet.number).is_ok();
        if chosen { Outcome::Drop(REASON) } else { Outcome::Pass }
    }
}
