//! Propagation delay.

use crate::parameters::{Bounds, ParameterSpec, Varies};
use crate::stage::{Built, Order, Outcome, Recipe, Stage, StageSpec, Transit, unconstrained};
use crate::varying::Varying;

pub(super) const MAX_DELAY_NS: u64 = 3_600_000_000_000;

pub(super) const SPEC: StageSpec = StageSpec {
    kind: "delay",
    law: "every packet leaves delay_ns after it came; while the delay changes, never before the one before it",
    parameters: &[ParameterSpec::new("delay_ns", "ns", Bounds::Integer(0, MAX_DELAY_NS), "one-way propagation delay")
        .varying(Varies::WithTime)],
    drop_reasons: &[],
    check: unconstrained,
    bottleneck: false,
    build,
};

struct Delay {
    delay_ns: Varying,
    last_ns: u64,
}

fn build(recipe: &Recipe<'_>) -> Built {
    Built::Instant(Box::new(Delay { delay_ns: recipe.varying("delay_ns"), last_ns: 0 }))
}

impl Stage for Delay {
    fn pass(&mut self, packet: &mut Transit, _draw: u64) -> Outcome {
        packet.floor_ns = packet.at_ns;
        packet.at_ns += self.delay_ns.whole_at(packet.at_ns);
        if !self.delay_ns.is_constant() {
            // A path that became shorter does not let packets overtake those that are still on the longer one.
            self.last_ns = self.last_ns.max(packet.at_ns);
            packet.at_ns = self.last_ns;
        }
        Outcome::Pass
    }

    fn order(&self) -> Order {
        if self.delay_ns.is_constant() { Order::Keeps } else { Order::Restores }
    }

    fn needs_order(&self) -> bool {
        !self.delay_ns.is_constant()
    }
}
