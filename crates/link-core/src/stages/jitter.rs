//! Random variation about the delay before it.

use super::delay::MAX_DELAY_NS;
use crate::distribution::{bits_of, normal_probability, normal_quantile, open_unit, standard_pareto_quantile};
use crate::parameters::{Bounds, Fallback, ParameterSpec, Varies};
use crate::size_condition::{ABOVE_BYTES, SizeCondition};
use crate::stage::{Built, Order, Outcome, Recipe, Stage, StageSpec, Transit, unconstrained};
use crate::stream::{Stream, mix, symmetric};
use crate::varying::Varying;

const LAWS: &[&str] = &["uniform", "normal", "pareto"];

pub(super) const SPEC: StageSpec = StageSpec {
    kind: "jitter",
    law: "adds a random offset to the delay right before it of packets above the size, never leaving before that delay was reached",
    parameters: &[
        ParameterSpec::new(
            "jitter_ns",
            "ns",
            Bounds::Integer(0, MAX_DELAY_NS),
            "half the width of a uniform offset, the standard deviation of another",
        )
        .varying(Varies::WithTime),
        ParameterSpec::new(
            "reorder",
            "",
            Bounds::Boolean,
            "true: packets may overtake each other; false: one waits for the one before it",
        ),
        ParameterSpec::new("law", "", Bounds::Choice(LAWS), "the offset's law; pareto has shape 3 and mean 0")
            .or(Fallback::Word("uniform")),
        ParameterSpec::new(
            "correlation",
            "1",
            Bounds::Number(0.0, 0.9999),
            "of the normal scores of one packet's offset and the next one's",
        )
        .or(Fallback::Number(0.0)),
        ABOVE_BYTES,
    ],
    drop_reasons: &[],
    check: unconstrained,
    bottleneck: false,
    build,
};

#[derive(Clone, Copy)]
enum Law {
    Uniform,
    Normal,
    Pareto,
}

struct Jitter {
    jitter_ns: Varying,
    reorder: bool,
    law: Law,
    correlation: f64,
    innovation: f64,
    concerned: SizeCondition,
    /// The normal score of the packet before, once there was one.
    score: Option<f64>,
    last_ns: u64,
    stream: Stream,
}

fn build(recipe: &Recipe<'_>) -> Built {
    let correlation = recipe.values.number("correlation");
    Built::Instant(Box::new(Jitter {
        jitter_ns: recipe.varying("jitter_ns"),
        reorder: recipe.values.boolean("reorder"),
        law: match recipe.values.text("law") {
            "uniform" => Law::Uniform,
            "normal" => Law::Normal,
            _ => Law::Pareto,
        },
        correlation,
        innovation: (1.0 - correlation * correlation).sqrt(),
        concerned: SizeCondition::of(recipe.values),
        score: None,
        last_ns: 0,
        stream: recipe.stream(),
    }))
}

impl Jitter {
    fn offset_ns(&mut self, at_ns: u64, draw: u64) -> i64 {
        let jitter_ns = self.jitter_ns.whole_at(at_ns);
        match self.law {
            Law::Uniform => symmetric(draw, jitter_ns),
            Law::Normal => (jitter_ns as f64 * normal_quantile(open_unit(draw))).round() as i64,
            Law::Pareto => (jitter_ns as f64 * standard_pareto_quantile(open_unit(draw))).round() as i64,
        }
    }
}

impl Stage for Jitter {
    /// With a correlation, a first-order autoregressive process of normal scores, turned back into a uniform number: a
    /// Gaussian copula, so that the law of a single packet's offset stays what it is.
    fn draw(&mut self, _at_ns: u64) -> u64 {
        let bits = self.stream.bits();
        if self.correlation == 0.0 {
            return bits;
        }
        let fresh = normal_quantile(open_unit(bits));
        let score = self.score.map_or(fresh, |before| self.correlation * before + self.innovation * fresh);
        self.score = Some(score);
        bits_of(normal_probability(score))
    }

    fn redraw(&self, draw: u64) -> u64 {
        if self.correlation == 0.0 { mix(draw) } else { draw }
    }

    fn pass(&mut self, packet: &mut Transit, draw: u64) -> Outcome {
        let offset_ns = if self.concerned.holds(packet) { self.offset_ns(packet.at_ns, draw) } else { 0 };
        packet.at_ns = packet.at_ns.saturating_add_signed(offset_ns).max(packet.floor_ns);
        if !self.reorder {
            self.last_ns = self.last_ns.max(packet.at_ns);
            packet.at_ns = self.last_ns;
        }
        packet.floor_ns = packet.at_ns;
        Outcome::Pass
    }

    fn order(&self) -> Order {
        if self.reorder { Order::Breaks } else { Order::Restores }
    }
}
