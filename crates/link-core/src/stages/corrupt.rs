//! Corruption: one bit of a packet.

use crate::parameters::{Bounds, ParameterSpec, Varies};
use crate::stage::{Built, Outcome, Recipe, Stage, StageSpec, Transit, unconstrained};
use crate::stream::Stream;
use crate::stream::mix;
use crate::varying::Varying;

const HALF: u32 = 32;

pub(super) const SPEC: StageSpec = StageSpec {
    kind: "corrupt",
    law: "with the given probability one bit behind the IP header is flipped; checksums stay as they are",
    parameters: &[ParameterSpec::new(
        "probability",
        "1",
        Bounds::Number(0.0, 1.0),
        "share of packets that are corrupted",
    )
    .varying(Varies::WithTime)],
    drop_reasons: &[],
    check: unconstrained,
    bottleneck: false,
    build,
};

struct Corrupt {
    probability: Varying,
    stream: Stream,
}

fn build(recipe: &Recipe<'_>) -> Built {
    Built::Instant(Box::new(Corrupt { probability: recipe.varying("probability"), stream: recipe.stream() }))
}

impl Stage for Corrupt {
    fn draw(&mut self, _at_ns: u64) -> u64 {
        self.stream.bits()
    }

    /// The upper half of the draw decides whether, the lower half where, so that the place does not depend on how rare
    /// corruption is: of one number for both, a rare packet's would always be small. The probability is met to 2⁻³²,
    /// and 2³² places are 8000 for each bit of the largest packet. `mix` spreads them over 64 bits, because the program that
    /// flips the bit may look at any of them; it gives 0, which stands for no corruption, for 0 only.
    fn pass(&mut self, packet: &mut Transit, draw: u64) -> Outcome {
        const ONE: f64 = (1_u64 << HALF) as f64;
        packet.floor_ns = packet.at_ns;
        let damaged = ((draw >> HALF) as f64) < self.probability.at(packet.at_ns) * ONE;
        if damaged && !packet.is_spared() {
            // A packet has one such bit at most: where several stages corrupt it, the last one chooses.
            packet.edits.corrupt = mix((draw & u64::from(u32::MAX)) + 1);
        }
        Outcome::Pass
    }
}
