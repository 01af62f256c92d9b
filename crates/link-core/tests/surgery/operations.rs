//! What an operation does to its packet.

use longlook_link_core::{Config, PacketInfo, Transport};
use proptest::prelude::*;
use serde_json::{Value, json};

use crate::common::{Arrival, Decided, configuration, fates_of, kinds, losses, stage, steady, upward};
use crate::traffic::{drop_one, forgive, kinds_but, stages_of, surgery, traffic, with};

proptest! {
    #[test]
    fn what_is_forgiven_arrives_unharmed_whatever_the_stages(
        seed: u64, stages in stages_of(&kinds_but(&[])), place in 0..6_usize, traffic in traffic(),
        numbers in prop::collection::btree_set(0..150_u64, 1..20)
    ) {
        let list: Vec<Value> = numbers.iter().map(|number| json!([number, number])).collect();
        let operated = fates_of(seed, &with(&stages, place, surgery(&json!({"forgive": list}))), &traffic);
        for one in operated.iter().filter(|one| numbers.contains(&one.number)) {
            prop_assert_eq!(one.reason(), None, "packet {}", one.number);
            prop_assert_eq!((one.fate.edits.corrupt, one.fate.edits.icmp_mtu), (0, 0));
        }
        prop_assert!(operated.iter().all(|one| !one.fate.operated.forgiven || numbers.contains(&one.number)));
    }

    #[test]
    fn what_is_to_be_dropped_never_leaves(
        seed: u64, stages in stages_of(&kinds_but(&[])), place in 0..6_usize, traffic in traffic(), number in 0..20_u64
    ) {
        let operated = fates_of(seed, &with(&stages, place, drop_one(number)), &traffic);
        for one in operated.iter().filter(|one| one.number == number) {
            prop_assert_eq!(one.reason(), Some("surgery"));
        }
        prop_assert!(operated.iter().all(|one| one.number == number || one.reason() != Some("surgery")));
    }
}

/// Whether each packet is lost if the second of a burst of these sizes is forgiven.
fn burst(stages: &[Value], sizes: &[u32], forgiven: u64) -> Vec<Decided> {
    let info = |size_bytes| PacketInfo { size_bytes, transport: Transport::Udp, flow: 1, ecn: 0 };
    let traffic: Vec<Arrival> = sizes.iter().map(|size| Arrival { at_ns: 0, info: info(*size) }).collect();
    fates_of(1, &with(stages, 0, forgive(forgiven)), &traffic)
}

#[test]
fn every_stage_that_drops_can_forgive() {
    let traffic = steady(200);
    for kind in kinds_but(&[]) {
        let link = [kinds::active(kind)];
        let Some(lost) = fates_of(11, &link, &traffic).iter().find(|one| one.is_lost()).map(|one| one.number) else {
            continue;
        };
        let operated = fates_of(11, &with(&link, 1, forgive(lost)), &traffic);
        let own: Vec<&Decided> = operated.iter().filter(|one| one.number == lost).collect();
        assert!(own.iter().all(|one| !one.is_lost() && one.fate.operated.forgiven), "{kind}: {own:?}");
    }
}

#[test]
fn a_full_queue_takes_what_is_forgiven_above_its_limit() {
    for kind in ["rate", "codel"] {
        let queue = stage(kind, &json!({"rate_bps": 8_000_000, "queue_bytes": 3_000}));
        let fates = burst(&[queue], &[1_000; 6], 4);
        let due_ns: Vec<Option<u64>> = fates.iter().map(Decided::due_ns).collect();
        let ms = |count: u64| Some(count * 1_000_000);
        assert_eq!(due_ns, [ms(1), ms(2), ms(3), None, ms(4), None], "{kind}");
        assert_eq!(fates[4].fate.queue_bytes, 3_000, "{kind}");
        assert!(fates[4].fate.operated.forgiven, "{kind}");
    }
}

#[test]
fn a_full_fair_queue_drops_others_instead_and_none_if_all_are_forgiven() {
    let queue = stage("fq_codel", &json!({"rate_bps": 8_000_000, "queue_packets": 3}));
    let lost = |first: u64, last: u64| -> Vec<u64> {
        let info = PacketInfo { size_bytes: 1_000, transport: Transport::Udp, flow: 1, ecn: 0 };
        let traffic = vec![Arrival { at_ns: 0, info }; 5];
        let link = [surgery(&json!({"forgive": [[first, last]]})), queue.clone()];
        fates_of(1, &link, &traffic).iter().filter(|one| one.is_lost()).map(|one| one.number).collect()
    };
    assert_eq!(lost(100, 100), [1, 2]);
    assert_eq!(lost(1, 1), [2, 3]);
    assert_eq!(lost(0, 4), Vec::<u64>::new());
}

#[test]
fn a_policer_takes_no_tokens_for_what_is_forgiven() {
    let police = stage("police", &json!({"protocol": "any", "rate_bps": 1_000, "burst_bytes": 1_500}));
    let lost: Vec<bool> = burst(&[police], &[1_000, 1_000, 500, 1], 1).iter().map(Decided::is_lost).collect();
    assert_eq!(lost, [false, false, false, true]);
}

#[test]
fn a_burst_of_losses_goes_on_behind_what_is_forgiven() {
    let channel = [kinds::active("gilbert_elliott")];
    let plain = losses(5, &channel, 500);
    let first = plain.windows(2).position(|pair| pair == [true, true]).expect("a burst of two or more");
    let operated = losses(5, &with(&channel, 0, forgive(first as u64)), 500);
    let expected: Vec<bool> = (0..).zip(&plain).map(|(number, lost)| *lost && number != first).collect();
    assert_eq!(operated, expected);
}

#[test]
fn a_copy_fares_as_its_packet() {
    let link = [
        stage("duplicate", &json!({"probability": 1})),
        stage("loss", &json!({"probability": 1})),
        surgery(&json!({"forgive": [[1, 1]], "drop": [[2, 2]], "hold": [[1, 1, 5_000]]})),
    ];
    let fates = fates_of(1, &link, &steady(3));
    let found: Vec<_> = fates.iter().map(|one| (one.number, one.due_ns(), one.reason())).collect();
    let expected = [
        (0, None, Some("loss")),
        (0, None, Some("loss")),
        (1, Some(1_005_000), None),
        (1, Some(1_005_000), None),
        (2, None, Some("surgery")),
        (2, None, Some("surgery")),
    ];
    assert_eq!(found, expected);
}

#[test]
fn the_packets_that_operations_name_are_counted() {
    let link = surgery(&json!({"forgive": [[1, 1], [5, 9]], "drop": [[30, 32]], "hold": [[5, 5, 1]]}));
    assert_eq!(upward(1, &[link]).operations(), 10);
    assert_eq!(upward(1, &[]).operations(), 0);
}

#[test]
fn operations_that_cannot_be_are_refused() {
    let refusal = |stages: &[Value]| {
        Config::from_json(&configuration(1, stages, &[])).err().map(|error| error.to_string()).unwrap_or_default()
    };
    let cases = [
        (json!({}), "it names no packet: give `forgive`, `drop` or `hold`"),
        (json!({"forgive": []}), "it names no packet"),
        (json!({"drop": [[3, 2]]}), "key `drop` is [[3,2]]: it must be at most 10000 ranges [first, last] of packets"),
        (json!({"drop": [[3, 5], [5, 6]]}), "in order and apart"),
        (
            json!({"hold": [[3, 5]]}),
            "ranges [first, last, ns] of packets, in order and apart, ns from 1 to 3600000000000",
        ),
        (json!({"hold": [[3, 5, 0]]}), "ns from 1 to"),
        (json!({"drop": [[1, 4]], "forgive": [[0, 0], [4, 9]]}), "key `drop` names packet 4, and so does `forgive`"),
        (
            json!({"drop": [[7, 7]], "hold": [[0, 9, 5]]}),
            "key `drop` names packet 7, and so does `hold`: what is dropped",
        ),
    ];
    for (parameters, expected) in cases {
        let message = refusal(&[surgery(&parameters)]);
        assert!(message.starts_with("up, stage 0 (surgery): "), "{message}");
        assert!(message.contains(expected), "{parameters} gives {message:?}, not {expected:?}");
    }
    let twice = refusal(&[forgive(1), forgive(2)]);
    assert_eq!(twice, "up, stage 1 (surgery): a second `surgery`: a direction has one, give it all operations");
    assert_eq!(refusal(&[surgery(&json!({"forgive": [[3, 5]], "hold": [[4, 9, 1]]}))]), "");
}
