//! A policer: a rate without a queue.
//!
//! A token bucket holds `burst_bytes` at most, full at the start, and fills at the rate. A packet of the protocol
//! passes if the bucket holds its bytes, and takes them; otherwise it is dropped and takes nothing. Over any window of
//! length w at most `burst_bytes` + rate · w pass.

use std::sync::Arc;

use crate::parameters::{Bounds, ParameterSpec};
use crate::protocol::{PROTOCOL, Protocol};
use crate::queue::parameters::RATE_BPS;
use crate::schedule::Schedule;
use crate::stage::{Built, Outcome, Recipe, Stage, StageSpec, Transit, unconstrained};
use crate::varying::Varying;

const REASON: &str = "police";
/// The unit of tokens is the bit-nanosecond per second: a rate of r bit/s gives r of them in each nanosecond, so that
/// nothing is ever rounded.
const TOKENS_PER_BYTE: u128 = 8_000_000_000;

pub(super) const SPEC: StageSpec = StageSpec {
    kind: REASON,
    law: "packets pass while a token bucket of burst_bytes, filled at rate_bps, covers them; others are dropped",
    parameters: &[
        PROTOCOL,
        RATE_BPS,
        // Below one full packet it would silently pass nothing but small ones.
        ParameterSpec::new(
            "burst_bytes",
            "byte",
            Bounds::Integer(1_500, u32::MAX as u64),
            "depth of the token bucket, full at the start",
        ),
    ],
    drop_reasons: &[REASON],
    check: unconstrained,
    bottleneck: false,
    build,
};

enum Supply {
    Rate(Varying),
    /// Running sums of a trace's bytes with their times.
    Trace {
        sums: Arc<[(u64, u64)]>,
        repeat_ns: u64,
    },
}

struct Police {
    protocol: Protocol,
    supply: Supply,
    depth: u128,
    tokens: u128,
    filled_ns: u64,
}

fn build(recipe: &Recipe<'_>) -> Built {
    let supply = match *recipe.values.schedule(RATE_BPS.name) {
        Schedule::Opportunities { ref runs, bytes, repeat_ns } => {
            let mut sum = 0;
            let sums = runs.iter().map(|(at_ns, count)| {
                sum += count * bytes;
                (*at_ns, sum)
            });
            Supply::Trace { sums: sums.collect(), repeat_ns }
        }
        _ => Supply::Rate(recipe.varying(RATE_BPS.name)),
    };
    let depth = u128::from(recipe.values.integer("burst_bytes")) * TOKENS_PER_BYTE;
    Built::Instant(Box::new(Police {
        protocol: Protocol::of(recipe.values),
        supply,
        depth,
        tokens: depth,
        filled_ns: 0,
    }))
}

impl Police {
    fn fill(&mut self, until_ns: u64) {
        match &mut self.supply {
            Supply::Rate(rate_bps) => {
                let mut at_ns = self.filled_ns;
                while at_ns < until_ns && self.tokens < self.depth {
                    let piece = rate_bps.piece(at_ns);
                    let end_ns = until_ns.min(piece.until_ns);
                    self.tokens += u128::from(end_ns - at_ns) * u128::from(piece.value as u64);
                    at_ns = end_ns;
                }
            }
            Supply::Trace { sums, repeat_ns } => {
                let bytes = bytes_by(sums, *repeat_ns, until_ns) - bytes_by(sums, *repeat_ns, self.filled_ns);
                self.tokens += bytes * TOKENS_PER_BYTE;
            }
        }
        self.tokens = self.tokens.min(self.depth);
        self.filled_ns = until_ns;
    }
}

/// Returns the bytes that a trace has given by then; an opportunity at that very time counts, also the last of one cycle and the first of
/// the next.
fn bytes_by(sums: &[(u64, u64)], repeat_ns: u64, at_ns: u64) -> u128 {
    let within = |inside_ns: u64| match sums.partition_point(|sum| sum.0 <= inside_ns) {
        0 => 0,
        count => u128::from(sums[count - 1].1),
    };
    let (cycles, inside_ns) = (at_ns / repeat_ns, at_ns % repeat_ns);
    u128::from(cycles) * within(repeat_ns) + within(inside_ns)
}

impl Stage for Police {
    fn pass(&mut self, packet: &mut Transit, _draw: u64) -> Outcome {
        packet.floor_ns = packet.at_ns;
        if !self.protocol.includes(packet.info.transport) {
            return Outcome::Pass;
        }
        self.fill(packet.at_ns);
        let Some(left) = self.tokens.checked_sub(u128::from(packet.info.size_bytes) * TOKENS_PER_BYTE) else {
            return Outcome::Drop(REASON);
        };
        self.tokens = left;
        Outcome::Pass
    }

    fn needs_order(&self) -> bool {
        true
    }
}
