//! A middlebox that writes another ECN codepoint into packets.

use crate::parameters::{Bounds, ParameterSpec};
use crate::protocol::{PROTOCOL, Protocol};
use crate::queue::marking::remark;
use crate::stage::{Built, Outcome, Recipe, Stage, StageSpec, Transit, unconstrained};

const NOT_ECT: u8 = 0;
const ECT1: u8 = 1;
const ECT0: u8 = 2;
const CE: u8 = 3;

/// Each rule with the codepoint that it writes in the place of each of the four.
const RULES: [(&str, [u8; 4]); 5] = [
    ("bleach", [NOT_ECT; 4]),
    ("ce_to_ect0", [NOT_ECT, ECT1, ECT0, ECT0]),
    ("ect0_to_ect1", [NOT_ECT, ECT1, ECT1, CE]),
    ("ect1_to_ect0", [NOT_ECT, ECT0, ECT0, CE]),
    ("all_ce", [CE; 4]),
];

pub(super) const SPEC: StageSpec = StageSpec {
    kind: "ecn_remark",
    law: "packets of the protocol get another ECN codepoint: bleach clears it, ce_to_ect0 takes marks away, ect0_to_ect1 and ect1_to_ect0 exchange the ways to say capable, all_ce marks everything, packets that are not capable too",
    parameters: &[
        PROTOCOL,
        ParameterSpec::new(
            "rule",
            "",
            Bounds::Choice(&["bleach", "ce_to_ect0", "ect0_to_ect1", "ect1_to_ect0", "all_ce"]),
            "which codepoint becomes which",
        ),
    ],
    drop_reasons: &[],
    check: unconstrained,
    bottleneck: false,
    build,
};

struct EcnRemark {
    protocol: Protocol,
    written: [u8; 4],
}

fn build(recipe: &Recipe<'_>) -> Built {
    let rule = RULES.iter().find(|(name, _)| *name == recipe.values.text("rule"));
    let Some((_, written)) = rule else { unreachable!("the specification allows the rules alone") };
    Built::Instant(Box::new(EcnRemark { protocol: Protocol::of(recipe.values), written: *written }))
}

impl Stage for EcnRemark {
    fn pass(&mut self, packet: &mut Transit, _draw: u64) -> Outcome {
        packet.floor_ns = packet.at_ns;
        if self.protocol.includes(packet.info.transport) {
            remark(packet, self.written[usize::from(packet.info.ecn & 3)]);
        }
        Outcome::Pass
    }
}
