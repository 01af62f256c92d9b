//! Loss in bursts of one length.
//!
//! Outside of a burst one begins at a packet with probability p, and takes that packet and those that arrive at the
//! link after it, L = `packets` together. At the packet behind a burst the next one may begin, so a run of lost packets
//! is one burst or several: a multiple of L. In the long run a share p·L/(p·L + 1 − p) of packets is lost.

use crate::parameters::{Bounds, ParameterSpec, Varies};
use crate::stage::{Built, Outcome, Recipe, Stage, StageSpec, Transit, unconstrained};
use crate::stream::Stream;
use crate::varying::Varying;

const REASON: &str = "burst_loss";
const LOST: u64 = 1;

pub(super) const SPEC: StageSpec = StageSpec {
    kind: REASON,
    law: "a burst begins at a packet with the given probability and takes it and those after it, `packets` of them",
    parameters: &[
        ParameterSpec::new(
            "probability",
            "1",
            Bounds::Number(0.0, 1.0),
            "that a burst begins at a packet outside of one",
        )
        .varying(Varies::WithTime),
        ParameterSpec::new("packets", "packet", Bounds::Integer(1, u32::MAX as u64), "length of a burst"),
    ],
    drop_reasons: &[REASON],
    check: unconstrained,
    bottleneck: false,
    build,
};

struct BurstLoss {
    probability: Varying,
    packets: u64,
    /// Packets that are left of the burst that has begun.
    left: u64,
    stream: Stream,
}

fn build(recipe: &Recipe<'_>) -> Built {
    Built::Instant(Box::new(BurstLoss {
        probability: recipe.varying("probability"),
        packets: recipe.values.integer("packets"),
        left: 0,
        stream: recipe.stream(),
    }))
}

impl Stage for BurstLoss {
    /// Whether the packet is lost. One number is taken for each packet, also inside of a burst, so that the draws of
    /// arms with bursts of different lengths stay beside each other. A probability that varies is that at the arrival
    /// at the link.
    fn draw(&mut self, at_ns: u64) -> u64 {
        let begins = self.stream.unit() < self.probability.at(at_ns);
        if self.left == 0 && begins {
            self.left = self.packets;
        }
        let lost = self.left > 0;
        self.left = self.left.saturating_sub(1);
        if lost { LOST } else { 0 }
    }

    /// A copy is right behind its packet, in the same burst.
    fn redraw(&self, draw: u64) -> u64 {
        draw
    }

    fn pass(&mut self, packet: &mut Transit, draw: u64) -> Outcome {
        packet.floor_ns = packet.at_ns;
        if draw == LOST { Outcome::Drop(REASON) } else { Outcome::Pass }
    }
}
