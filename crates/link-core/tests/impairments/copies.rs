//! Duplicates: one more fate each, with a chance of its own.

use std::collections::HashMap;

use proptest::prelude::*;
use serde_json::{Value, json};

use crate::common::{Decided, fates_of, kinds, stage, steady};
use crate::statistics::{assert_fits, assert_mean};

fn duplicate(probability: f64) -> Value {
    stage("duplicate", &json!({"probability": probability}))
}

fn by_number(fates: &[Decided]) -> Vec<Vec<Decided>> {
    let mut all: Vec<Vec<Decided>> = Vec::new();
    for one in fates {
        all.resize_with(all.len().max(one.number as usize + 1), Vec::new);
        all[one.number as usize].push(*one);
    }
    all
}

proptest! {
    // `fates_of` asserts that each announced copy has a fate, and no more.
    #[test]
    fn each_copy_has_one_fate_and_a_number_of_its_own(
        seed: u64, kinds in prop::collection::vec(prop::sample::select(kinds::repeatable().collect::<Vec<_>>()), 0..6),
        probabilities in prop::collection::vec(0.0..=1.0, 3)
    ) {
        let mut stages: Vec<Value> = kinds.iter().map(|kind| kinds::active(kind)).collect();
        for (number, probability) in probabilities.iter().enumerate() {
            stages.insert((number * 2).min(stages.len()), duplicate(*probability));
        }
        for family in by_number(&fates_of(seed, &stages, &steady(60))) {
            prop_assert_eq!(family[0].copy, 0);
            prop_assert!(family.windows(2).all(|pair| pair[0].copy < pair[1].copy));
            prop_assert!(family.iter().all(|one| one.copy < 256));
        }
    }
}

#[test]
fn as_many_copies_as_the_law_says() {
    const PACKETS: usize = 100_000;
    for (seed, probability) in [(1, 0.01), (2, 0.5)] {
        let copies = fates_of(seed, &[duplicate(probability)], &steady(PACKETS)).len() - PACKETS;
        assert_mean(copies as f64 / PACKETS as f64, probability, probability * (1.0 - probability), PACKETS);
    }
    assert_eq!(fates_of(1, &[duplicate(1.0)], &steady(50)).len(), 100);
    assert_eq!(fates_of(1, &[duplicate(0.0)], &steady(50)).len(), 50);
    let most = vec![duplicate(1.0); 8];
    let all = fates_of(1, &most, &steady(2));
    assert_eq!(all.iter().map(|one| one.copy).collect::<Vec<_>>(), (0..256).chain(0..256).collect::<Vec<_>>());
}

#[test]
fn a_copy_follows_right_behind_its_packet() {
    let delay = stage("delay", &json!({"delay_ns": 5_000_000}));
    for family in by_number(&fates_of(1, &[duplicate(1.0), delay], &steady(20))) {
        assert_eq!(family[0].due_ns(), family[1].due_ns());
    }
    // At a bottleneck it waits for its packet, and the next packet for both: 1200 bytes are 4.8 ms.
    let rate = stage("rate", &json!({"rate_bps": 2_000_000}));
    let all = fates_of(1, &[duplicate(1.0), rate], &steady(3));
    let due_ns: Vec<u64> = all.iter().filter_map(Decided::due_ns).collect();
    assert_eq!(due_ns, [1, 2, 3, 4, 5, 6].map(|turn| turn * 4_800_000));
}

#[test]
fn fates_of_a_packet_and_its_copies_are_independent() {
    // Four of each: the packet, its first copy, the second stage's copies of both.
    let link = [duplicate(1.0), duplicate(1.0), stage("loss", &json!({"probability": 0.3}))];
    let families = by_number(&fates_of(7, &link, &steady(20_000)));
    let mut patterns = [0; 16];
    for family in &families {
        let bits = family.iter().enumerate().map(|(place, one)| usize::from(one.is_lost()) << place);
        patterns[bits.sum::<usize>()] += 1;
    }
    let expected: Vec<f64> = (0..16_u32)
        .map(|pattern| 0.3_f64.powi(pattern.count_ones() as i32) * 0.7_f64.powi(pattern.count_zeros() as i32 - 28))
        .map(|chance| chance * families.len() as f64)
        .collect();
    assert_fits(&patterns, &expected);
}

#[test]
fn copies_are_in_the_burst_of_their_packet() {
    let channel = |loss_bad: f64| {
        stage("gilbert_elliott", &json!({"good_to_bad": 0.05, "bad_to_good": 0.2, "loss_bad": loss_bad}))
    };
    for bursts in [channel(1.0), stage("burst_loss", &json!({"probability": 0.05, "packets": 4}))] {
        let families = by_number(&fates_of(1, &[duplicate(1.0), bursts], &steady(5_000)));
        assert!(families.iter().all(|family| family[0].is_lost() == family[1].is_lost()));
    }
    // In a bad state that loses half, each is lost with its own chance.
    let families = by_number(&fates_of(2, &[duplicate(1.0), channel(0.5)], &steady(40_000)));
    let mut lost: HashMap<usize, u64> = HashMap::new();
    for family in &families {
        *lost.entry(family.iter().filter(|one| one.is_lost()).count()).or_default() += 1;
    }
    // Of those of which at least one is lost, two thirds lose one and one third both.
    let some = lost[&1] + lost[&2];
    assert_fits(&[lost[&1], lost[&2]], &[some as f64 * 2.0 / 3.0, some as f64 / 3.0]);
}

#[test]
fn copies_disturb_no_draw_of_other_packets() {
    let later = [
        kinds::active("gilbert_elliott"),
        kinds::active("burst_loss"),
        kinds::active("jitter"),
        kinds::active("corrupt"),
    ];
    let without = fates_of(5, &later, &steady(500));
    let with = fates_of(5, &[&[duplicate(0.5)], &later[..]].concat(), &steady(500));
    let originals: Vec<Decided> = with.into_iter().filter(|one| one.copy == 0).collect();
    for (one, other) in originals.iter().zip(&without) {
        assert_eq!((one.due_ns(), one.reason(), one.fate.edits), (other.due_ns(), other.reason(), other.fate.edits));
    }
}
