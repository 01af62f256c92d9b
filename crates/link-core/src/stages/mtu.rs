//! A hop of a smaller MTU.
//!
//! It fragments nothing: IPv6 routers never do, and QUIC and Linux TCP set "don't fragment". Without `icmp` it is the
//! black hole that RFC 4821 and DPLPMTUD (RFC 8899) were made for. A message may also name a wrong size, as a broken
//! router or an attacker does (RFC 8201, section 6; RFC 9000, section 14.2.1).

use crate::parameters::{Bounds, Fallback, ParameterSpec, Varies};
use crate::stage::{Built, Outcome, Recipe, Stage, StageSpec, Transit, unconstrained};
use crate::varying::Varying;

const REASON: &str = "mtu";
/// RFC 791: what every IPv4 hop must pass in one piece.
const LEAST_BYTES: u64 = 68;
const MOST_BYTES: u64 = 65_535;

pub(super) const SPEC: StageSpec = StageSpec {
    kind: "mtu",
    law: "packets of more than mtu_bytes are dropped, and none is fragmented",
    parameters: &[
        ParameterSpec::new(
            "mtu_bytes",
            "byte",
            Bounds::Integer(LEAST_BYTES, MOST_BYTES),
            "largest IP packet that passes",
        )
        .varying(Varies::WithTime),
        ParameterSpec::new(
            "icmp",
            "",
            Bounds::Boolean,
            "whether the sender is notified: ICMP \"fragmentation needed\", ICMPv6 \"packet too big\"",
        ),
        ParameterSpec::new(
            "claimed_bytes",
            "byte",
            Bounds::Integer(0, MOST_BYTES),
            "the MTU that the notification names in place of the true one; 0: the true one",
        )
        .or(Fallback::Integer(0)),
    ],
    drop_reasons: &[REASON],
    check: unconstrained,
    bottleneck: false,
    build,
};

struct Mtu {
    mtu_bytes: Varying,
    icmp: bool,
    claimed_bytes: u64,
}

fn build(recipe: &Recipe<'_>) -> Built {
    Built::Instant(Box::new(Mtu {
        mtu_bytes: recipe.varying("mtu_bytes"),
        icmp: recipe.values.boolean("icmp"),
        claimed_bytes: recipe.values.integer("claimed_bytes"),
    }))
}

impl Stage for Mtu {
    fn pass(&mut self, packet: &mut Transit, _draw: u64) -> Outcome {
        packet.floor_ns = packet.at_ns;
        let mtu_bytes = self.mtu_bytes.whole_at(packet.at_ns);
        if u64::from(packet.info.size_bytes) <= mtu_bytes {
            return Outcome::Pass;
        }
        if self.icmp {
            packet.edits.icmp_mtu = if self.claimed_bytes > 0 { self.claimed_bytes } else { mtu_bytes } as u32;
        }
        Outcome::Drop(REASON)
    }
}
