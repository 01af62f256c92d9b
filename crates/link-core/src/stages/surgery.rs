//! Operations on single packets, named by their numbers in their direction.
//!
//! They are for experiments: the same link with the same draws, and one packet that fares otherwise. No operation takes
//! part in any draw, so those of all other packets stay as they were.
//! - `forgive`: whatever stage would drop or corrupt the packet, before this one or behind it, lets it through. Its
//!   state goes on as if it had dropped the packet: `CoDel` and RED take the signal as given, a policer takes no tokens
//!   for it, a burst of losses goes on. In a full queue the packet stands above the limit; `fq_codel` drops the one
//!   behind it instead.
//! - `drop`: the packet is dropped at this stage's place, before copies are made of it behind it. If a stage before it
//!   drops the packet anyway, this one is named as the reason.
//! - `hold`: the packet leaves the whole direction so much later. That is after all stages, so that it takes its place
//!   in queues as ever and changes the time of no other packet; those behind it overtake it.
//!
//! Copies of a packet have its number and its operations. The direction itself does all but the drop, because the other
//! operations concern every stage.

use super::delay::MAX_DELAY_NS;
use crate::messages::Problem;
use crate::packet::DirectionName;
use crate::parameters::{Bounds, Fallback, ParameterSpec};
use crate::ranges::Range;
use crate::stage::{Built, Outcome, Recipe, Stage, StageSpec, Transit};
use crate::surgery::{DROP, FORGIVE, HOLD, KIND};
use crate::values::Values;

pub(super) const SPEC: StageSpec = StageSpec {
    kind: KIND,
    law: "of the packets with these numbers in their direction, some pass whatever the other stages would do, some are dropped here, and some leave the link later",
    parameters: &[
        list(FORGIVE, "", None, "packets that no stage drops or corrupts"),
        list(DROP, "", None, "packets that are dropped here"),
        list(HOLD, "ns", Some((1, MAX_DELAY_NS)), "packets that leave the direction so much later"),
    ],
    drop_reasons: &[KIND],
    check,
    bottleneck: false,
    build,
};

const fn list(
    name: &'static str,
    unit: &'static str,
    bounds: Option<(u64, u64)>,
    meaning: &'static str,
) -> ParameterSpec {
    ParameterSpec::new(name, unit, Bounds::Ranges(bounds), meaning).or(Fallback::Nothing)
}

fn check(values: &Values, _direction: DirectionName) -> Result<(), Problem> {
    let [forgive, drop, hold] = [FORGIVE, DROP, HOLD].map(|name| values.ranges(name));
    if forgive.is_empty() && drop.is_empty() && hold.is_empty() {
        return Err(Problem::of_stage("it names no packet: give `forgive`, `drop` or `hold`, or leave the stage out"));
    }
    for (name, others) in [(FORGIVE, forgive), (HOLD, hold)] {
        if let Some(number) = shared(drop, others) {
            let reason =
                format!("key `{DROP}` names packet {number}, and so does `{name}`: what is dropped never leaves");
            return Err(Problem::with(DROP, reason));
        }
    }
    Ok(())
}

/// The first packet that both lists name.
fn shared(one: &[Range], other: &[Range]) -> Option<u64> {
    let (mut one, mut other) = (one.iter().peekable(), other.iter().peekable());
    while let (Some(a), Some(b)) = (one.peek(), other.peek()) {
        let (first, last) = (a.first.max(b.first), a.last.min(b.last));
        if first <= last {
            return Some(first);
        }
        if a.last < b.last {
            one.next()
        } else {
            other.next()
        };
    }
    None
}

struct Surgery;

fn build(_recipe: &Recipe<'_>) -> Built {
    Built::Instant(Box::new(Surgery))
}

impl Stage for Surgery {
    fn pass(&mut self, packet: &mut Transit, _draw: u64) -> Outcome {
        if packet.operation.drop { Outcome::Drop(KIND) } else { Outcome::Pass }
    }
}
