//! A NAT that forgets its ports, as home routers do after a time or a restart.
//!
//! The stage counts with each packet how often that has happened; the program that changes the bytes keeps the ports.

use crate::messages::Problem;
use crate::nat_times::Rebindings;
use crate::packet::DirectionName;
use crate::packet::Transport;
use crate::parameters::{Bounds, Fallback, ParameterSpec};
use crate::stage::{Built, Outcome, Recipe, Stage, StageSpec, Transit};
use crate::values::Values;

const REASON: &str = "nat";
const LONGEST_NS: u64 = 7 * 24 * 3_600 * 1_000_000_000;
/// A NAT that forgets faster than a packet crosses the path lets nothing through.
const LEAST_REPEAT_NS: u64 = 1_000_000;

pub(super) const SPEC: StageSpec = StageSpec {
    kind: REASON,
    law: "at that link time the client's UDP ports change as the server sees them; the ports before reach no one",
    parameters: &[
        ParameterSpec::new("rebind_ns", "ns", Bounds::Integer(0, LONGEST_NS), "link time of the change"),
        ParameterSpec::new(
            "repeat_ns",
            "ns",
            Bounds::Integer(0, LONGEST_NS),
            "time from one change to the next; 0: there is one only",
        )
        .or(Fallback::Integer(0)),
    ],
    // Counted in the other direction: it is the server's packets that find no port.
    drop_reasons: &[REASON],
    check,
    bottleneck: false,
    build,
};

struct Nat {
    times: Rebindings,
}

fn check(values: &Values, direction: DirectionName) -> Result<(), Problem> {
    if direction == DirectionName::Down {
        return Err(Problem::of_stage("a NAT stands at the client: put it into `up`; it acts on both directions"));
    }
    let repeat_ns = values.integer("repeat_ns");
    if (1..LEAST_REPEAT_NS).contains(&repeat_ns) {
        let reason =
            format!("key `repeat_ns` is {repeat_ns}: it must be at least {LEAST_REPEAT_NS}, or 0 for a single change");
        return Err(Problem::with("repeat_ns", reason));
    }
    Ok(())
}

fn build(recipe: &Recipe<'_>) -> Built {
    Built::Instant(Box::new(Nat { times: Rebindings::of(recipe.values) }))
}

impl Stage for Nat {
    fn pass(&mut self, packet: &mut Transit, _draw: u64) -> Outcome {
        packet.floor_ns = packet.at_ns;
        if packet.info.transport == Transport::Udp {
            packet.edits.nat_epoch = self.times.epoch_at(packet.at_ns);
        }
        Outcome::Pass
    }
}
