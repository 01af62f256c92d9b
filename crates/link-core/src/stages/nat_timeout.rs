//! A NAT that forgets a port which the client has not used for a time, as home routers do with UDP.
//!
//! Nothing is decided here: the program that changes the bytes keeps the ports, with the time at which each packet of
//! the client's reached the link, wherever the stage stands.

use crate::messages::Problem;
use crate::packet::DirectionName;
use crate::parameters::{Bounds, ParameterSpec};
use crate::stage::{Built, Outcome, Recipe, Stage, StageSpec, Transit};
use crate::values::Values;

pub(crate) const KIND: &str = "nat_timeout";
const LONGEST_NS: u64 = 7 * 24 * 3_600 * 1_000_000_000;
/// A NAT that forgets faster than a packet crosses the path lets nothing through.
const SHORTEST_NS: u64 = 1_000_000;

pub(super) const SPEC: StageSpec = StageSpec {
    kind: KIND,
    law: "a UDP port that the client has not sent from for longer reaches no one, and is another one when it sends \
          again (RFC 4787, 4.3)",
    parameters: &[ParameterSpec::new(
        "timeout_ns",
        "ns",
        Bounds::Integer(SHORTEST_NS, LONGEST_NS),
        "silence of the client that a port survives",
    )],
    // Counted in the other direction, as `nat`: it is the server's packets that find no port.
    drop_reasons: &["nat"],
    check,
    bottleneck: false,
    build,
};

struct NatTimeout;

fn check(_values: &Values, direction: DirectionName) -> Result<(), Problem> {
    if direction == DirectionName::Down {
        return Err(Problem::of_stage("a NAT stands at the client: put it into `up`; it acts on both directions"));
    }
    Ok(())
}

fn build(_recipe: &Recipe<'_>) -> Built {
    Built::Instant(Box::new(NatTimeout))
}

impl Stage for NatTimeout {
    fn pass(&mut self, packet: &mut Transit, _draw: u64) -> Outcome {
        packet.floor_ns = packet.at_ns;
        Outcome::Pass
    }
}
