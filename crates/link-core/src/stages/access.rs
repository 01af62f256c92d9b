//! The sender's access: a small random delay that keeps the order of packets.
//!
//! Endpoints with infinitely fast processors and no jitter lock into phase at a drop-tail queue, so that one flow meets
//! every drop. Floyd and Jacobson (1991, "Traffic phase effects in packet-switched gateways") break that with a random
//! processing time up to the bottleneck's service time of one packet. It stands first in its direction: where a sender
//! is, before anything that the path does.

use super::delay::MAX_DELAY_NS;
use crate::parameters::{Bounds, ParameterSpec};
use crate::stage::{Built, Order, Outcome, Recipe, Stage, StageSpec, Transit, unconstrained};
use crate::stream::{Stream, up_to};

pub(super) const SPEC: StageSpec = StageSpec {
    kind: "access",
    law: "every packet leaves a time uniform in [0, max_ns] after it came, but never before the one before it",
    parameters: &[ParameterSpec::new(
        "max_ns",
        "ns",
        Bounds::Integer(0, MAX_DELAY_NS),
        "longest processing time of a packet at its sender",
    )],
    drop_reasons: &[],
    check: unconstrained,
    bottleneck: false,
    build,
};

struct Access {
    max_ns: u64,
    last_ns: u64,
    stream: Stream,
}

fn build(recipe: &Recipe<'_>) -> Built {
    let max_ns = recipe.values.integer("max_ns");
    Built::Instant(Box::new(Access { max_ns, last_ns: 0, stream: recipe.stream() }))
}

impl Stage for Access {
    fn draw(&mut self, _at_ns: u64) -> u64 {
        self.stream.bits()
    }

    fn pass(&mut self, packet: &mut Transit, draw: u64) -> Outcome {
        self.last_ns = self.last_ns.max(packet.at_ns + up_to(draw, self.max_ns));
        packet.at_ns = self.last_ns;
        packet.floor_ns = packet.at_ns;
        Outcome::Pass
    }

    fn order(&self) -> Order {
        Order::Restores
    }
}
