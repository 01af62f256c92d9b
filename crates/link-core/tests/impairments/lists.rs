//! Losses by list, which are exact.

use proptest::prelude::*;
use serde_json::json;

use crate::common::{Decided, fates_of, losses, stage, steady};

proptest! {
    #[test]
    fn exactly_the_listed_packets_are_lost(indexes in prop::collection::btree_set(0..300_u64, 1..50)) {
        let lost = losses(1, &[stage("loss_index", &json!({"indexes": indexes}))], 300);
        for (number, lost) in (0..).zip(lost) {
            prop_assert_eq!(lost, indexes.contains(&number));
        }
    }

    #[test]
    fn a_pattern_loops(pattern in "[01]{1,40}") {
        let lost = losses(1, &[stage("loss_trace", &json!({"pattern": pattern}))], 300);
        for (lost, digit) in lost.into_iter().zip(pattern.bytes().cycle()) {
            prop_assert_eq!(lost, digit == b'1');
        }
    }
}

#[test]
fn the_number_is_that_of_arrival_whatever_was_lost_or_overtaken_before() {
    let before = [
        stage("loss_trace", &json!({"pattern": "1110000000"})),
        stage("jitter", &json!({"jitter_ns": 9_000_000, "reorder": true})),
        stage("reorder", &json!({"probability": 0.5, "depth_packets": 3, "wait_ns": 50_000_000})),
    ];
    let listed = stage("loss_index", &json!({"indexes": [0, 5, 6, 12, 99]}));
    let fates = fates_of(3, &[&before[..], &[listed]].concat(), &steady(100));
    let lost = |reason| fates.iter().filter(|one| one.reason() == Some(reason)).map(|one| one.number).collect();
    let (by_list, by_trace): (Vec<u64>, Vec<u64>) = (lost("loss_index"), lost("loss_trace"));
    assert_eq!(by_list, [5, 6, 99]); // 0 and 12 never reach it
    assert_eq!(by_trace.len(), 30);
}

#[test]
fn copies_share_the_number_of_their_packet() {
    for listed in [stage("loss_index", &json!({"indexes": [1, 3]})), stage("loss_trace", &json!({"pattern": "01010"}))]
    {
        let link = [stage("duplicate", &json!({"probability": 1})), listed];
        let lost: Vec<bool> = fates_of(1, &link, &steady(5)).iter().map(Decided::is_lost).collect();
        assert_eq!(lost, [false, false, true, true, false, false, true, true, false, false]);
    }
}
