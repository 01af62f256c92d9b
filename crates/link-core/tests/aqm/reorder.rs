use longlook_link_core::Event;
use proptest::prelude::*;
use serde_json::{Value, json};

use crate::common::{MS, Packet, decide, direction, stage, traffic};

fn reorder(probability: f64, depth: u64, wait_ns: u64) -> Value {
    stage("reorder", &json!({"probability": probability, "depth_packets": depth, "wait_ns": wait_ns}))
}

/// A packet each millisecond.
fn steady(count: u64) -> Vec<Packet> {
    (0..count).map(|number| Packet::new(number * MS, 1_000)).collect()
}

/// Which packets are chosen, seen by a wait that nothing ends early.
fn chosen(seed: u64, probability: f64, traffic: &[Packet]) -> Vec<bool> {
    let decided = decide(seed, &[reorder(probability, u64::from(u32::MAX), MS)], traffic);
    decided.iter().zip(traffic).map(|(one, packet)| one.due_ns() != Some(packet.at_ns)).collect()
}

proptest! {
    #[test]
    fn as_many_pass_as_they_should(
        seed: u64, probability in 0.0..=1.0, depth in 1..8_usize, wait_ns in 0..30 * MS, traffic in traffic(),
    ) {
        let chosen = chosen(seed, probability, &traffic);
        let decided = decide(seed, &[reorder(probability, depth as u64, wait_ns)], &traffic);
        for (number, packet) in traffic.iter().enumerate() {
            let due_ns = decided[number].due_ns().expect("nothing is lost");
            let mut passing = (number + 1..traffic.len()).filter(|later| !chosen[*later]);
            let expected = match passing.nth(depth - 1) {
                _ if !chosen[number] => packet.at_ns,
                Some(last) => traffic[last].at_ns.min(packet.at_ns + wait_ns),
                None => packet.at_ns + wait_ns,
            };
            prop_assert_eq!(due_ns, expected);
        }
    }
}

#[test]
fn the_share_of_chosen_packets_is_the_probability() {
    for probability in [0.0, 0.01, 0.25, 1.0] {
        let chosen = chosen(11, probability, &steady(40_000)).iter().filter(|one| **one).count() as f64;
        let deviation = (40_000.0 * probability * (1.0 - probability)).sqrt();
        assert!((chosen - 40_000.0 * probability).abs() <= 4.0 * deviation, "{probability}: {chosen}");
    }
}

#[test]
fn packets_leave_in_the_order_in_which_they_are_decided() {
    // With a depth of 2 and no other limit, a chosen packet comes right behind the second one after it, at its time.
    let traffic = steady(200);
    let chosen = chosen(5, 0.1, &traffic);
    let mut link = direction(5, &[reorder(0.1, 2, 1_000 * MS)]);
    let mut events = Vec::new();
    for packet in &traffic {
        link.arrive(packet.at_ns, &packet.info(), &mut events);
    }
    let order: Vec<usize> = events
        .iter()
        .map(|event| match event {
            Event::Decided { number, .. } => *number as usize,
            Event::Copied { .. } => panic!("nothing copies"),
        })
        .collect();
    for number in (0..190).filter(|number| chosen[*number]) {
        let at = order.iter().position(|one| *one == number).expect("it has left");
        let passed = order[..at].iter().filter(|one| **one > number).count();
        assert_eq!(passed, 2, "packet {number}");
        let before = (0..at).rev().map(|index| order[index]).find(|one| !chosen[*one]).expect("those that pass");
        assert!(before > number);
    }
    assert!(chosen.iter().filter(|one| **one).count() > 10);
}

#[test]
fn a_wait_that_ends_when_another_packet_comes_ends_before_it() {
    let traffic = steady(100);
    let stages = [reorder(0.2, 50, 3 * MS), stage("rate", &json!({"rate_bps": 1_000_000_000}))];
    let chosen = chosen(5, 0.2, &traffic);
    let decided = decide(5, &stages, &traffic);
    for number in (0..90).filter(|number| chosen[*number] && !chosen[*number + 3]) {
        assert!(decided[number].due_ns() < decided[number + 3].due_ns());
        assert!(decided[number].due_ns() > decided[number + 2].due_ns() || chosen[number + 2]);
    }
}
