//! Nobody but the packet that is operated on fares otherwise, until its fate has consequences for others.

use std::collections::BTreeSet;

use longlook_link_core::Event;
use proptest::prelude::*;
use proptest::sample::Index;
use serde_json::{Value, json};

use crate::common::{Arrival, Decided, fates_of, kinds, stage, upward};
use crate::traffic::{
    FORGETTING, HOLDING, REMEMBERING_WHAT_PASSES, SEPARATE, Whole, apart, drop_one, forgive, kinds_but, stages_of,
    surgery, traffic, whole, wholes, with,
};

/// An operation on one packet.
fn operation() -> impl Strategy<Value = fn(u64) -> Value> {
    prop::sample::select(vec![
        forgive as fn(u64) -> Value,
        drop_one,
        |number| surgery(&json!({"hold": [[number, number, 3_000_000]]})),
        |number| surgery(&json!({"forgive": [[number, number]], "hold": [[number, number, 50_000_000]]})),
    ])
}

/// The fates that are decided before the packet of that number arrives.
fn decided_before(seed: u64, stages: &[Value], traffic: &[Arrival], number: u64) -> Vec<Decided> {
    let (mut direction, mut events) = (upward(seed, stages), Vec::new());
    for arrival in &traffic[..number as usize] {
        direction.arrive(arrival.at_ns, &arrival.info, &mut events);
    }
    let decided = events.into_iter().filter_map(|event| match event {
        Event::Decided { number, copy, fate } => Some(Decided { number, copy, fate }),
        Event::Copied { .. } => None,
    });
    decided.collect()
}

proptest! {
    #[test]
    fn what_was_decided_before_the_packet_came_is_the_same(
        seed: u64, stages in stages_of(&kinds_but(&[])), place in 0..6_usize, operate in operation(),
        traffic in traffic(), at: Index
    ) {
        let number = at.index(traffic.len()) as u64;
        let operated = with(&stages, place, operate(number));
        let (before, after) =
            (decided_before(seed, &stages, &traffic, number), decided_before(seed, &operated, &traffic, number));
        prop_assert_eq!(wholes(&before), wholes(&after));
    }

    #[test]
    fn where_packets_do_not_wait_for_later_ones_all_before_it_fare_the_same(
        seed: u64, stages in stages_of(&kinds_but(&HOLDING)), place in 0..6_usize, operate in operation(),
        traffic in traffic(), at: Index
    ) {
        // Behind a jitter that reorders, a later packet comes to a queue before an earlier one.
        prop_assume!(stages.iter().all(|stage| stage["kind"] != "jitter"));
        let number = at.index(traffic.len()) as u64;
        let earlier = |stages: &[Value]| -> Vec<_> {
            fates_of(seed, stages, &traffic).iter().filter(|one| one.number < number).map(whole).collect()
        };
        prop_assert_eq!(earlier(&stages), earlier(&with(&stages, place, operate(number))));
    }

    #[test]
    fn without_a_queue_all_others_fare_the_same(
        seed: u64, mut stages in stages_of(&SEPARATE), place in 0..6_usize, operate in operation(),
        traffic in traffic(), at: Index
    ) {
        for stage in stages.iter_mut().filter(|stage| stage["kind"] == "delay") {
            // One that varies keeps the order of packets, so that one delays another.
            stage["parameters"] = json!({"delay_ns": 5_000_000});
        }
        stages.push(stage("jitter", &json!({"jitter_ns": 2_000_000, "reorder": true})));
        let number = at.index(traffic.len()) as u64;
        let operated = with(&stages, place, operate(number));
        let (others, _) = apart(&fates_of(seed, &stages, &traffic), number);
        prop_assert_eq!(&others, &apart(&fates_of(seed, &operated, &traffic), number).0);
    }

    #[test]
    fn to_hold_a_packet_changes_nothing_but_when_it_leaves(
        seed: u64, stages in stages_of(&kinds_but(&[])), place in 0..6_usize, held_ns in 1..1_000_000_000_u64,
        traffic in traffic(), at: Index
    ) {
        let number = at.index(traffic.len()) as u64;
        let operated = with(&stages, place, surgery(&json!({"hold": [[number, number, held_ns]]})));
        let (plain, held) = (fates_of(seed, &stages, &traffic), fates_of(seed, &operated, &traffic));
        let (others, own) = apart(&plain, number);
        let (other_others, other_own) = apart(&held, number);
        prop_assert_eq!(others, other_others);
        for (plain, held) in own.iter().zip(&other_own) {
            prop_assert_eq!(held.due_ns, plain.due_ns.map(|due_ns| due_ns + held_ns));
        }
        for one in held.iter().filter(|one| one.number == number) {
            prop_assert_eq!(one.fate.operated.held_ns, if one.is_lost() { 0 } else { held_ns });
        }
    }

    #[test]
    fn to_forgive_a_packet_that_passes_changes_nothing(
        seed: u64, stages in stages_of(&kinds_but(&[])), place in 0..6_usize, traffic in traffic(), at: Index
    ) {
        let plain = fates_of(seed, &stages, &traffic);
        let passing: Vec<u64> = (0..traffic.len() as u64)
            .filter(|number| {
                let mut own = plain.iter().filter(|one| one.number == *number);
                own.all(|one| !one.is_lost() && one.fate.edits.corrupt == 0)
            })
            .collect();
        prop_assume!(!passing.is_empty());
        let operated = fates_of(seed, &with(&stages, place, forgive(*at.get(&passing))), &traffic);
        prop_assert_eq!(wholes(&plain), wholes(&operated));
        prop_assert!(operated.iter().all(|one| !one.fate.operated.forgiven));
    }

    #[test]
    fn to_drop_a_packet_that_is_dropped_changes_only_the_reason(
        seed: u64, before in stages_of(&kinds_but(&[])), behind in stages_of(&FORGETTING),
        last in prop::sample::select(&REMEMBERING_WHAT_PASSES[..]), traffic in traffic(), at: Index
    ) {
        // Of two stages of one kind, the second would have other draws.
        let twice = |one: &Value| before.iter().any(|other| other["kind"] == one["kind"]);
        let behind: Vec<Value> = behind.into_iter().chain([kinds::active(last)]).filter(|one| !twice(one)).collect();
        let stages = [&before[..], &behind].concat();
        let plain = fates_of(seed, &stages, &traffic);
        let lost = |number: &u64| plain.iter().filter(|one| one.number == *number).all(Decided::is_lost);
        let dropped: Vec<u64> = (0..traffic.len() as u64).filter(lost).collect();
        prop_assume!(!dropped.is_empty());
        let number = *at.get(&dropped);
        let operated = fates_of(seed, &with(&stages, before.len(), drop_one(number)), &traffic);
        let (others, own) = apart(&plain, number);
        let (other_others, other_own) = apart(&operated, number);
        prop_assert_eq!(others, other_others);
        prop_assert!(other_own.iter().all(|one| one.reason == Some("surgery")));
        prop_assert_eq!(own.len(), other_own.len());
    }

    #[test]
    fn random_loss_is_the_same_as_the_drop_of_the_packets_that_it_takes(
        seed: u64, behind in stages_of(&kinds_but(&["loss"])), traffic in traffic(), probability in 0.05..0.5_f64,
        forgiven: Vec<Index>
    ) {
        let loss = stage("loss", &json!({"probability": probability}));
        let lossy = [&[loss][..], &behind].concat();
        let by_chance = fates_of(seed, &lossy, &traffic);
        let lost: BTreeSet<u64> =
            by_chance.iter().filter(|one| one.reason() == Some("loss")).map(|one| one.number).collect();
        let lost: Vec<u64> = lost.into_iter().collect();
        prop_assume!(!lost.is_empty());
        // Some of them are forgiven on the one link, and not dropped on the other, where nothing else may harm them.
        let forgiven: BTreeSet<u64> = forgiven.iter().map(|at| *at.get(&lost)).collect();
        let list = |all: Vec<&u64>| -> Vec<Value> { all.iter().map(|number| json!([number, number])).collect() };
        let (forgive, drop) =
            (list(forgiven.iter().collect()), list(lost.iter().filter(|one| !forgiven.contains(one)).collect()));
        let pardoned =
            if forgive.is_empty() { lossy } else { with(&lossy, 0, surgery(&json!({"forgive": forgive}))) };
        let listed = with(&behind, 0, surgery(&json!({"forgive": forgive, "drop": drop})));
        let renamed = |one: Whole| {
            let reason = one.reason.map(|reason| if reason == "loss" { "surgery" } else { reason });
            Whole { reason, ..one }
        };
        let pardoned: Vec<Whole> = wholes(&fates_of(seed, &pardoned, &traffic)).into_iter().map(renamed).collect();
        prop_assert_eq!(pardoned, wholes(&fates_of(seed, &listed, &traffic)));
    }
}
