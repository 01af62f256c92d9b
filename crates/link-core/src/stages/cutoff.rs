//! A middlebox that lets a flow begin and then stops it.

use std::collections::HashMap;

use crate::parameters::{Bounds, ParameterSpec};
use crate::protocol::{PROTOCOL, Protocol};
use crate::stage::{Built, Outcome, Recipe, Stage, StageSpec, Transit, unconstrained};

const REASON: &str = "cutoff";

pub(super) const SPEC: StageSpec = StageSpec {
    kind: REASON,
    law: "the first packets of each flow that reach the stage pass, as many as given, and none after them",
    parameters: &[
        PROTOCOL,
        ParameterSpec::new("packets", "packet", Bounds::Integer(1, u32::MAX as u64), "how many of each flow pass"),
    ],
    drop_reasons: &[REASON],
    check: unconstrained,
    bottleneck: false,
    build,
};

struct Cutoff {
    protocol: Protocol,
    packets: u64,
    /// How many of each flow have passed. It only grows, by some tens of bytes a flow: a flow that were forgotten
    /// could begin anew.
    passed: HashMap<u64, u64>,
}

fn build(recipe: &Recipe<'_>) -> Built {
    Built::Instant(Box::new(Cutoff {
        protocol: Protocol::of(recipe.values),
        packets: recipe.values.integer("packets"),
        passed: HashMap::new(),
    }))
}

impl Stage for Cutoff {
    fn pass(&mut self, packet: &mut Transit, _draw: u64) -> Outcome {
        packet.floor_ns = packet.at_ns;
        if !self.protocol.includes(packet.info.transport) {
            return Outcome::Pass;
        }
        let passed = self.passed.entry(packet.info.flow).or_default();
        if *passed == self.packets {
            return Outcome::Drop(REASON);
        }
        *passed += 1;
        Outcome::Pass
    }

    fn needs_order(&self) -> bool {
        true
    }
}
