//! Losses with a memory, and where corruption strikes.

use serde_json::{Value, json};

use crate::common::{fates_of, losses, stage, steady};
use crate::statistics::{assert_fits, assert_geometric, assert_mean, runs, share};

const PACKETS: usize = 100_000;

#[derive(Clone, Copy)]
struct Channel {
    to_bad: f64,
    to_good: f64,
    good: f64,
    bad: f64,
}

impl Channel {
    fn stage(self) -> Value {
        let Self { to_bad, to_good, good, bad } = self;
        let parameters = json!({"good_to_bad": to_bad, "bad_to_good": to_good, "loss_good": good, "loss_bad": bad});
        stage("gilbert_elliott", &parameters)
    }

    fn share_of_bad(self) -> f64 {
        self.to_bad / (self.to_bad + self.to_good)
    }

    fn mean(self) -> f64 {
        self.good + (self.bad - self.good) * self.share_of_bad()
    }

    /// n times the variance of the mean of n packets: that of one packet and its covariances with all others.
    fn variance(self) -> f64 {
        let (bad, memory) = (self.share_of_bad(), 1.0 - self.to_bad - self.to_good);
        let state = (self.bad - self.good).powi(2) * bad * (1.0 - bad);
        self.mean() * (1.0 - self.mean()) + 2.0 * state * memory / (1.0 - memory)
    }
}

#[test]
fn gilbert_elliott_loses_the_share_of_its_law() {
    let channels = [
        Channel { to_bad: 0.01, to_good: 0.25, good: 0.0, bad: 1.0 },
        Channel { to_bad: 0.001, to_good: 0.1, good: 0.0, bad: 1.0 },
        Channel { to_bad: 0.02, to_good: 0.2, good: 0.005, bad: 0.6 },
        Channel { to_bad: 0.5, to_good: 0.9, good: 0.1, bad: 0.0 },
        Channel { to_bad: 1.0, to_good: 1.0, good: 0.0, bad: 0.5 },
    ];
    for (seed, channel) in (1..).zip(channels) {
        assert_mean(share(&losses(seed, &[channel.stage()], PACKETS)), channel.mean(), channel.variance(), PACKETS);
    }
}

#[test]
fn gilbert_elliott_stays_in_its_states_as_long_as_it_should() {
    for (seed, to_bad, to_good) in [(1, 0.01, 0.25), (2, 0.005, 0.05), (3, 0.2, 0.7)] {
        let lost = losses(seed, &[Channel { to_bad, to_good, good: 0.0, bad: 1.0 }.stage()], PACKETS);
        let bursts = runs(&lost, true);
        assert_geometric(&bursts, to_good);
        assert_geometric(&runs(&lost, false), to_bad);
        let mean = bursts.iter().sum::<usize>() as f64 / bursts.len() as f64;
        assert_mean(mean, 1.0 / to_good, (1.0 - to_good) / (to_good * to_good), bursts.len());
    }
}

#[test]
fn a_bad_state_that_loses_some_shortens_bursts_as_documented() {
    let channel = Channel { to_bad: 0.02, to_good: 0.2, good: 0.0, bad: 0.6 };
    let bursts = runs(&losses(4, &[channel.stage()], PACKETS), true);
    assert_geometric(&bursts, 1.0 - (1.0 - channel.to_good) * channel.bad);
}

#[test]
fn gilbert_elliott_loses_the_first_packet_as_often_as_any() {
    const LINKS: u64 = 5_000;
    let channel = Channel { to_bad: 0.05, to_good: 0.2, good: 0.0, bad: 1.0 };
    let all: Vec<Vec<bool>> = (0..LINKS).map(|seed| losses(seed, &[channel.stage()], 3)).collect();
    for number in 0..3 {
        let lost: Vec<bool> = all.iter().map(|link| link[number]).collect();
        assert_mean(share(&lost), 0.2, 0.2 * 0.8, lost.len());
    }
}

#[test]
fn bursts_have_exactly_their_length() {
    for packets in [1, 2, 5, 17] {
        let probability = 0.02;
        let burst = stage("burst_loss", &json!({"probability": probability, "packets": packets}));
        let lost = losses(packets as u64, &[burst], PACKETS);
        let lengths = runs(&lost, true);
        assert!(lengths.len() > 100 && lengths.iter().all(|length| length % packets == 0), "{packets}");
        // How many bursts follow each other without a gap, and how long the gaps are.
        let bursts: Vec<usize> = lengths.iter().map(|length| length / packets).collect();
        let alone = bursts.iter().filter(|count| **count == 1).count() as f64 / bursts.len() as f64;
        assert_mean(alone, 1.0 - probability, probability * (1.0 - probability), bursts.len());
        assert_geometric(&runs(&lost, false), probability);
    }
}

#[test]
fn bursts_lose_the_share_of_their_law() {
    let (probability, packets) = (0.01, 5.0);
    let burst = stage("burst_loss", &json!({"probability": probability, "packets": 5}));
    let lost = share(&losses(9, &[burst], PACKETS));
    let expected = probability * packets / (probability * packets + 1.0 - probability);
    // A cycle is a gap and a burst: the share's error is that of the number of cycles, nearly.
    let cycles = PACKETS as f64 * expected / packets;
    assert!((lost / expected - 1.0).abs() < 4.0 / cycles.sqrt(), "{lost} instead of {expected}");
}

#[test]
fn certain_bursts_lose_all_and_impossible_ones_none() {
    for (probability, expected) in [(0, false), (1, true)] {
        let burst = stage("burst_loss", &json!({"probability": probability, "packets": 4}));
        assert_eq!(losses(1, &[burst], 100), vec![expected; 100]);
    }
}

#[test]
fn a_burst_begins_only_while_its_schedule_says_so_and_then_runs_on() {
    // One packet a millisecond: certain at 10 ms, impossible otherwise.
    let when = json!({"steps": [[0, 0], [10_000_000, 1], [11_000_000, 0]]});
    let burst = stage("burst_loss", &json!({"probability": when, "packets": 6}));
    let lost: Vec<usize> =
        losses(1, &[burst], 100).iter().enumerate().filter(|(_, lost)| **lost).map(|(number, _)| number).collect();
    assert_eq!(lost, [10, 11, 12, 13, 14, 15]);
}

#[test]
fn loss_probabilities_follow_their_schedule() {
    let when = json!({"steps": [[0, 0], [20_000_000, 1], [30_000_000, 0]], "repeat_ns": 50_000_000});
    for kind in ["loss", "corrupt", "duplicate"] {
        let felt = fates_of(1, &[stage(kind, &json!({"probability": when}))], &steady(100));
        let mut numbers: Vec<u64> = felt
            .iter()
            .filter(|one| one.is_lost() || one.fate.edits.corrupt != 0 || one.copy > 0)
            .map(|one| one.number)
            .collect();
        numbers.dedup();
        assert_eq!(numbers, (20..30).chain(70..80).collect::<Vec<u64>>(), "{kind}");
    }
}

#[test]
fn corruption_strikes_as_often_as_it_should_and_anywhere() {
    // Also where it is rare: the place must not depend on it.
    for (seed, probability) in [(1, 1.0), (2, 0.3), (3, 0.01)] {
        let link = [stage("corrupt", &json!({"probability": probability}))];
        let bits: Vec<u64> = fates_of(seed, &link, &steady(PACKETS)).iter().map(|one| one.fate.edits.corrupt).collect();
        let struck: Vec<u64> = bits.iter().copied().filter(|bits| *bits != 0).collect();
        let variance = probability * (1.0 - probability);
        assert!(probability < 1.0 || struck.len() == PACKETS);
        if probability < 1.0 {
            assert_mean(struck.len() as f64 / PACKETS as f64, probability, variance, PACKETS);
        }
        for shift in [60, 30, 0] {
            let mut places = [0; 16];
            for bits in &struck {
                places[(bits >> shift) as usize & 15] += 1;
            }
            assert_fits(&places, &[struck.len() as f64 / 16.0; 16]);
        }
    }
}
