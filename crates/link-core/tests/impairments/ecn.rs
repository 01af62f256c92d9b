//! A middlebox that rewrites codepoints, before a queue that marks and behind it.

use longlook_link_core::{Edits, PacketInfo, Transport};
use serde_json::{Value, json};

use crate::common::{Arrival, fates_of, stage};

fn rule(protocol: &str, rule: &str) -> Value {
    stage("ecn_remark", &json!({"protocol": protocol, "rule": rule}))
}

fn packet(ecn: u8, transport: Transport) -> Arrival {
    Arrival { at_ns: 0, info: PacketInfo { size_bytes: 1_000, transport, flow: 1, ecn } }
}

/// What each of the four codepoints becomes.
fn becomes(of: &str, transport: Transport) -> [u8; 4] {
    [0, 1, 2, 3].map(|ecn| {
        let fate = fates_of(1, &[rule("udp", of)], &[packet(ecn, transport)])[0].fate;
        fate.edits.ecn.unwrap_or(ecn)
    })
}

#[test]
fn each_rule_writes_its_codepoints_for_its_protocol() {
    for (name, expected) in [
        ("bleach", [0, 0, 0, 0]),
        ("ce_to_ect0", [0, 1, 2, 2]),
        ("ect0_to_ect1", [0, 1, 1, 3]),
        ("ect1_to_ect0", [0, 2, 2, 3]),
        ("all_ce", [3, 3, 3, 3]),
    ] {
        assert_eq!(becomes(name, Transport::Udp), expected, "{name}");
        assert_eq!(becomes(name, Transport::Tcp), [0, 1, 2, 3], "{name}");
    }
}

#[test]
fn what_stands_behind_sees_what_was_written() {
    // The second packet waits a millisecond, which is above the threshold.
    let marking = stage("step", &json!({"rate_bps": 8_000_000, "threshold_ns": 500_000}));
    let edits = |ecn: u8, stages: &[Value]| {
        let fates = fates_of(1, stages, &[packet(ecn, Transport::Tcp), packet(ecn, Transport::Tcp)]);
        fates[1].fate.edits
    };
    let marked = |mark_ce: bool, ecn: Option<u8>| Edits { mark_ce, ecn, ..Edits::default() };
    let (bleach, ect1) = (rule("any", "bleach"), rule("any", "ect0_to_ect1"));
    assert_eq!(edits(2, std::slice::from_ref(&marking)), marked(true, None));
    assert_eq!(edits(2, &[bleach.clone(), marking.clone()]), marked(false, Some(0)), "no mark without a codepoint");
    assert_eq!(edits(2, &[marking.clone(), bleach]), marked(true, Some(0)), "the mark is cleared");
    assert_eq!(edits(2, &[ect1.clone(), marking.clone()]), marked(true, Some(3)), "the mark counts");
    assert_eq!(edits(2, &[marking, ect1]), marked(true, None), "a mark is no ECT(0) any more");
}

#[test]
fn a_rewritten_packet_goes_into_the_other_queue() {
    // Ten of ECT(0), of which the last over TCP becomes ECT(1).
    let mut traffic = vec![packet(2, Transport::Udp); 10];
    traffic.push(packet(2, Transport::Tcp));
    let queue = stage("dualpi2", &json!({"rate_bps": 8_000_000}));
    let due = |stages: &[Value]| fates_of(1, stages, &traffic)[10].due_ns();
    assert_eq!(due(std::slice::from_ref(&queue)), Some(11_000_000));
    assert_eq!(due(&[rule("tcp", "ect0_to_ect1"), queue]), Some(2_000_000));
}
