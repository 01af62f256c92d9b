//! What must hold for every link and every traffic, checked in virtual time.

use std::collections::HashMap;

use link_core::{Config, Direction, DirectionName, Event, Fate, Inside, PacketInfo, Verdict};
use proptest::prelude::*;
use serde_json::{Value, json};

const NS_PER_S: u128 = 1_000_000_000;

#[derive(Debug, Clone, Copy)]
struct Packet {
    at_ns: u64,
    size_bytes: u32,
}

fn direction_of(seed: u64, stages: &[Value]) -> Direction {
    let config = json!({"version": 2, "seed": seed, "linger_ns": 0, "up": stages, "down": []});
    Config::from_json(&config.to_string()).expect("the stages are valid").direction(DirectionName::Up)
}

/// The fate of a packet at a link that decides about each at once.
fn arrive(direction: &mut Direction, packet: &Packet) -> Fate {
    let mut events = Vec::new();
    direction.arrive(packet.at_ns, &PacketInfo::of_size(packet.size_bytes), &mut events);
    let [Event::Decided { fate, copy: 0, .. }] = events[..] else { panic!("not one fate: {events:?}") };
    fate
}

/// The fates of all packets at any link that makes no copies, in their order.
fn fates(seed: u64, stages: &[Value], traffic: &[Packet]) -> Vec<Fate> {
    let mut direction = direction_of(seed, stages);
    let mut events = Vec::new();
    for packet in traffic {
        direction.arrive(packet.at_ns, &PacketInfo::of_size(packet.size_bytes), &mut events);
    }
    while let Some(next_ns) = direction.next_event_ns() {
        direction.advance(next_ns, &mut events);
    }
    let mut fates = vec![None; traffic.len()];
    for event in events {
        let Event::Decided { number, fate, .. } = event else { panic!("nothing copies: {event:?}") };
        assert_eq!(fates[number as usize].replace(fate), None, "decided twice");
    }
    fates.into_iter().map(|fate| fate.expect("decided once")).collect()
}

fn due_ns(fate: &Fate) -> Option<u64> {
    match fate.verdict {
        Verdict::Deliver { due_ns } => Some(due_ns),
        Verdict::Drop { .. } => None,
    }
}

fn lost_at(fate: &Fate, index: usize) -> bool {
    matches!(fate.verdict, Verdict::Drop { stage, .. } if stage == index)
}

fn loss(probability: f64) -> Value {
    json!({"kind": "loss", "parameters": {"probability": probability}})
}

fn rate(rate_bps: u64, queue_bytes: u64) -> Value {
    json!({"kind": "rate", "parameters": {"rate_bps": rate_bps, "queue_bytes": queue_bytes}})
}

fn delay(delay_ns: u64) -> Value {
    json!({"kind": "delay", "parameters": {"delay_ns": delay_ns}})
}

fn jitter(jitter_ns: u64, reorder: bool) -> Value {
    json!({"kind": "jitter", "parameters": {"jitter_ns": jitter_ns, "reorder": reorder}})
}

fn access(max_ns: u64) -> Value {
    json!({"kind": "access", "parameters": {"max_ns": max_ns}})
}

/// Bursts and pauses: gaps from nothing to 20 ms.
fn traffic() -> impl Strategy<Value = Vec<Packet>> {
    let gap = prop_oneof![3 => Just(0_u64), 3 => 1..2_000_000_u64, 1 => 0..20_000_000_u64];
    prop::collection::vec((gap, 20..=1500_u32), 1..300).prop_map(|steps| {
        let mut at_ns = 1_000;
        let mut packet = |(gap_ns, size_bytes)| {
            at_ns += gap_ns;
            Packet { at_ns, size_bytes }
        };
        steps.into_iter().map(&mut packet).collect()
    })
}

fn stage() -> impl Strategy<Value = Value> {
    prop_oneof![
        (0.0..=1.0).prop_map(loss),
        (1_000_000..1_000_000_000_u64, 1_500..60_000_u64).prop_map(|(bps, bytes)| rate(bps, bytes)),
        (0..50_000_000_u64).prop_map(delay),
        (0..20_000_000_u64).prop_map(|jitter_ns| jitter(jitter_ns, false)),
        (0..20_000_000_u64).prop_map(access),
    ]
}

/// Any valid link: what reorders comes last, where nothing that needs order can follow it.
fn stages() -> impl Strategy<Value = Vec<Value>> {
    (prop::collection::vec(stage(), 0..6), prop::option::of((0..20_000_000_u64).prop_map(|ns| jitter(ns, true))))
        .prop_map(|(mut stages, last)| {
            stages.extend(last);
            stages
        })
}

proptest! {
    #[test]
    fn every_packet_is_delivered_dropped_or_inside(seed: u64, stages in stages(), traffic in traffic()) {
        let mut direction = direction_of(seed, &stages);
        let mut inside = Inside::default();
        let (mut delivered, mut dropped) = (0, 0);
        for (sequence, packet) in (0..).zip(&traffic) {
            while inside.pop_due(packet.at_ns).is_some() {
                delivered += 1;
            }
            match arrive(&mut direction, packet).verdict {
                Verdict::Deliver { due_ns } => inside.push(due_ns, sequence, ()),
                Verdict::Drop { .. } => dropped += 1,
            }
            prop_assert_eq!(sequence + 1, delivered + dropped + inside.len() as u64);
        }
        let left = inside.len() as u64;
        prop_assert_eq!(inside.drain().count() as u64, left);
        prop_assert_eq!(traffic.len() as u64, delivered + dropped + left);
    }

    #[test]
    fn no_packet_leaves_before_it_arrived(seed: u64, stages in stages(), traffic in traffic()) {
        for (packet, fate) in traffic.iter().zip(fates(seed, &stages, &traffic)) {
            prop_assert!(due_ns(&fate).is_none_or(|due_ns| due_ns >= packet.at_ns));
        }
    }

    #[test]
    fn order_is_kept_unless_a_stage_reorders(
        seed: u64, stages in prop::collection::vec(stage(), 0..6), traffic in traffic()
    ) {
        let due: Vec<u64> = fates(seed, &stages, &traffic).iter().filter_map(due_ns).collect();
        prop_assert!(due.is_sorted());
    }

    #[test]
    fn packets_leave_inside_in_order_of_due_time_then_sequence(due in prop::collection::vec(0..50_u64, 0..200)) {
        let mut inside = Inside::default();
        for (sequence, due_ns) in (0..).zip(&due) {
            inside.push(*due_ns, sequence, (*due_ns, sequence));
        }
        let out: Vec<(u64, u64)> = inside.drain().collect();
        prop_assert!(out.is_sorted());
        prop_assert_eq!(out.len(), due.len());
    }

    #[test]
    fn the_queue_stays_within_its_bound_and_is_reported_truly(
        rate_bps in 1_000_000..1_000_000_000_u64, queue_bytes in 1_500..60_000_u64, traffic in traffic()
    ) {
        let stages = [rate(rate_bps, queue_bytes)];
        let mut direction = direction_of(1, &stages);
        let mut waiting: Vec<(u64, u64)> = Vec::new();
        for packet in &traffic {
            waiting.retain(|(due_ns, _)| *due_ns > packet.at_ns);
            let bytes: u64 = waiting.iter().map(|(_, size)| size).sum();
            let fate = arrive(&mut direction, packet);
            prop_assert_eq!(fate.queue_bytes, bytes);
            prop_assert_eq!(fate.queue_packets as usize, waiting.len());
            let size = u64::from(packet.size_bytes);
            match due_ns(&fate) {
                Some(due_ns) => waiting.push((due_ns, size)),
                None => prop_assert!(bytes + size > queue_bytes, "dropped although it fits"),
            }
            prop_assert!(waiting.iter().map(|(_, size)| size).sum::<u64>() <= queue_bytes);
        }
        prop_assert!(direction.max_queue_bytes() <= queue_bytes);
    }

    #[test]
    fn the_rate_stays_within_its_bound_over_any_window(
        rate_bps in 1_000..10_000_000_000_u64, traffic in traffic()
    ) {
        let sent: Vec<(u64, u128)> = fates(1, &[rate(rate_bps, 1 << 30)], &traffic)
            .iter()
            .zip(&traffic)
            .filter_map(|(fate, packet)| Some((due_ns(fate)?, u128::from(packet.size_bytes) * 8)))
            .collect();
        for (first, (start_ns, _)) in sent.iter().enumerate() {
            let mut bits = 0;
            for (end_ns, packet_bits) in &sent[first + 1..] {
                bits += packet_bits;
                // Times are rounded up to whole nanoseconds.
                let allowed = u128::from(rate_bps) * u128::from(end_ns - start_ns + 1);
                prop_assert!(bits * NS_PER_S <= allowed, "{bits} bits in {} ns", end_ns - start_ns);
            }
        }
    }

    #[test]
    fn a_saturated_link_carries_its_rate_exactly(rate_bps in 1_000..10_000_000_000_u64, count in 1..2_000_u64) {
        let traffic = vec![Packet { at_ns: 0, size_bytes: 1500 }; count as usize];
        let last = fates(1, &[rate(rate_bps, u64::from(u32::MAX))], &traffic).iter().filter_map(due_ns).max();
        let exact_ns = (u128::from(count) * 12_000 * NS_PER_S).div_ceil(u128::from(rate_bps));
        let error_ns = u128::from(last.expect("all fit")) - exact_ns;
        // A picosecond a packet, and the last nanosecond.
        prop_assert!(error_ns <= u128::from(count) / 1_000 + 1, "{error_ns} ns late");
    }

    #[test]
    fn the_same_seed_gives_the_same_fates(seed: u64, stages in stages(), traffic in traffic()) {
        prop_assert_eq!(fates(seed, &stages, &traffic), fates(seed, &stages, &traffic));
    }

    #[test]
    fn another_stage_leaves_the_draws_of_the_others_alone(seed: u64, added in stage(), traffic in traffic()) {
        prop_assume!(added["kind"] != "loss" && added["kind"] != "jitter");
        let before = fates(seed, &[loss(0.3), jitter(5_000_000, false)], &traffic);
        let after = fates(seed, &[loss(0.3), jitter(5_000_000, false), added.clone()], &traffic);
        for (one, other) in before.iter().zip(&after) {
            prop_assert_eq!(lost_at(one, 0), lost_at(other, 0));
        }
        let in_front = fates(seed, &[added, loss(0.3)], &traffic);
        for (one, other) in before.iter().zip(&in_front) {
            let dropped_in_front = lost_at(other, 0);
            prop_assert!(dropped_in_front || lost_at(one, 0) == lost_at(other, 1));
        }
    }

    #[test]
    fn draws_belong_to_the_number_of_the_packet_not_to_its_time_or_size(
        seed: u64, one in traffic(), other in traffic()
    ) {
        let stages = [rate(2_000_000, 3_000), loss(0.2), loss(0.3)];
        let (one, other) = (fates(seed, &stages, &one), fates(seed, &stages, &other));
        for (one, other) in one.iter().zip(&other) {
            if !lost_at(one, 0) && !lost_at(other, 0) {
                prop_assert_eq!(lost_at(one, 1), lost_at(other, 1));
                prop_assert_eq!(lost_at(one, 2), lost_at(other, 2));
            }
        }
    }

    #[test]
    fn jitter_stays_within_its_width_about_the_delay(
        seed: u64, delay_ns in 0..30_000_000_u64, jitter_ns in 0..30_000_000_u64, traffic in traffic()
    ) {
        let stages = [delay(delay_ns), jitter(jitter_ns, true)];
        for (packet, fate) in traffic.iter().zip(fates(seed, &stages, &traffic)) {
            let spent_ns = due_ns(&fate).expect("nothing drops it") - packet.at_ns;
            prop_assert!((delay_ns.saturating_sub(jitter_ns)..=delay_ns + jitter_ns).contains(&spent_ns));
        }
    }

    #[test]
    fn access_keeps_order_and_stays_within_its_bound(
        seed: u64, max_ns in 0..30_000_000_u64, traffic in traffic()
    ) {
        let due: Vec<u64> = fates(seed, &[access(max_ns)], &traffic).iter().filter_map(due_ns).collect();
        prop_assert_eq!(due.len(), traffic.len());
        prop_assert!(due.is_sorted());
        for (packet, due_ns) in traffic.iter().zip(due) {
            // A packet that waits for the one before it waits no longer than that one's own bound.
            prop_assert!((packet.at_ns..=packet.at_ns + max_ns).contains(&due_ns));
        }
    }

    #[test]
    fn access_leaves_the_draws_of_the_others_alone(seed: u64, max_ns in 0..30_000_000_u64, traffic in traffic()) {
        let before = fates(seed, &[loss(0.3), delay(10_000_000), jitter(5_000_000, true)], &traffic);
        let first = [access(max_ns), loss(0.3), delay(10_000_000), jitter(5_000_000, true)];
        let held_up: Vec<u64> = fates(seed, &first[..1], &traffic).iter().filter_map(due_ns).collect();
        for ((one, other), (packet, held_up_ns)) in
            before.iter().zip(fates(seed, &first, &traffic)).zip(traffic.iter().zip(held_up))
        {
            prop_assert_eq!(lost_at(one, 0), lost_at(&other, 1));
            // Each packet is late by its time at the access, and by nothing else: the jitter draws are the same.
            let late_ns = due_ns(one).zip(due_ns(&other)).map(|(before_ns, after_ns)| after_ns - before_ns);
            prop_assert!(late_ns.is_none_or(|late_ns| late_ns == held_up_ns - packet.at_ns));
        }
    }

    #[test]
    fn access_in_front_of_a_rate_spares_its_law(
        seed: u64, max_ns in 0..30_000_000_u64, rate_bps in 1_000_000..1_000_000_000_u64, traffic in traffic()
    ) {
        // What the rate stage meets is the same traffic, each packet at the time it left the access.
        let stages = [access(max_ns), rate(rate_bps, 30_000)];
        let held_up: Vec<Packet> = fates(seed, &stages[..1], &traffic)
            .iter()
            .zip(&traffic)
            .map(|(fate, packet)| Packet { at_ns: due_ns(fate).expect("nothing drops it"), ..*packet })
            .collect();
        let together: Vec<Option<u64>> = fates(seed, &stages, &traffic).iter().map(due_ns).collect();
        let apart: Vec<Option<u64>> = fates(seed, &stages[1..], &held_up).iter().map(due_ns).collect();
        prop_assert_eq!(together, apart);
    }
}

proptest! {
    #[test]
    fn a_queue_behind_reordering_meets_packets_in_the_order_of_time(
        seed: u64, rate_bps in 1_000_000..1_000_000_000_u64, traffic in traffic()
    ) {
        let reordering = [delay(20_000_000), jitter(20_000_000, true)];
        let mut sorted: Vec<(u64, Packet)> = fates(seed, &reordering, &traffic)
            .iter()
            .zip(&traffic)
            .map(|(fate, packet)| (due_ns(fate).expect("nothing drops it"), *packet))
            .collect();
        sorted.sort_by_key(|(at_ns, _)| *at_ns);
        let sorted: Vec<Packet> = sorted.into_iter().map(|(at_ns, packet)| Packet { at_ns, ..packet }).collect();
        let mut apart: Vec<Option<u64>> = fates(seed, &[rate(rate_bps, 9_000)], &sorted).iter().map(due_ns).collect();
        let whole = [delay(20_000_000), jitter(20_000_000, true), rate(rate_bps, 9_000)];
        let mut together: Vec<Option<u64>> = fates(seed, &whole, &traffic).iter().map(due_ns).collect();
        apart.sort_unstable();
        together.sort_unstable();
        prop_assert_eq!(together, apart);
    }

    #[test]
    fn what_is_decided_does_not_depend_on_how_often_one_asks(
        seed: u64, traffic in traffic(), asked in prop::collection::vec(0..2_000_000_000_u64, 0..100)
    ) {
        let stages = [delay(20_000_000), jitter(20_000_000, true), rate(5_000_000, 9_000), loss(0.1)];
        let mut direction = direction_of(seed, &stages);
        let (mut events, mut asked) = (Vec::new(), asked);
        asked.sort_unstable();
        let mut asked = asked.into_iter().peekable();
        for packet in &traffic {
            while let Some(at_ns) = asked.next_if(|at_ns| *at_ns <= packet.at_ns) {
                direction.advance(at_ns, &mut events);
            }
            direction.arrive(packet.at_ns, &PacketInfo::of_size(packet.size_bytes), &mut events);
        }
        direction.advance(u64::MAX, &mut events);
        let mut found: Vec<(u64, Fate)> = events
            .into_iter()
            .map(|event| match event {
                Event::Decided { number, fate, .. } => (number, fate),
                Event::Copied { .. } => panic!("nothing copies"),
            })
            .collect();
        found.sort_by_key(|(number, _)| *number);
        let found: Vec<Fate> = found.into_iter().map(|(_, fate)| fate).collect();
        prop_assert_eq!(found, fates(seed, &stages, &traffic));
    }

    #[test]
    fn a_rate_that_varies_is_the_integral_of_its_steps(
        values in prop::collection::vec(0..50_000_000_u64, 1..8), step_ns in 1_000_000..50_000_000_u64,
        count in 1..500_u64
    ) {
        prop_assume!(values.iter().any(|value| *value > 1_000));
        let values: Vec<u64> = values.iter().map(|value| if *value < 1_000 { 0 } else { *value }).collect();
        let points: Vec<(u64, u64)> = (0..).map(|index| index * step_ns).zip(values.iter().copied()).collect();
        let repeat_ns = step_ns * values.len() as u64;
        let stage = json!({"kind": "rate", "parameters": {"rate_bps": {"steps": points, "repeat_ns": repeat_ns}}});
        let traffic = vec![Packet { at_ns: 0, size_bytes: 1500 }; count as usize];
        for (number, fate) in (1..).zip(fates(1, &[stage], &traffic)) {
            let due_ns = due_ns(&fate).expect("nothing drops it");
            let sent = |until_ns: u64| -> u128 {
                let per_cycle: u128 = values.iter().map(|value| u128::from(*value) * u128::from(step_ns)).sum();
                let inside_ns = until_ns % repeat_ns;
                let within: u128 = (0..)
                    .zip(&values)
                    .map(|(index, value)| {
                        u128::from(*value) * u128::from(inside_ns.saturating_sub(index * step_ns).min(step_ns))
                    })
                    .sum();
                per_cycle * u128::from(until_ns / repeat_ns) + within
            };
            let needed = u128::from(number as u64) * 12_000 * NS_PER_S;
            // Each packet is rounded up by less than a picosecond, which may be one of the fastest step.
            let fastest = u128::from(*values.iter().max().expect("there is one"));
            prop_assert!(sent(due_ns) >= needed);
            prop_assert!(sent(due_ns - 1) <= needed + number as u128 * fastest / 1_000, "packet {} is late", number);
        }
    }

    #[test]
    fn a_rate_by_chance_is_the_same_before_every_queue(seed: u64, traffic in traffic()) {
        let drawn = json!({"uniform": {"minimum": 1_000_000, "maximum": 50_000_000, "every_ns": 1_000_000}});
        let bottleneck = |kind: &str| json!({"kind": kind, "parameters": {"rate_bps": drawn, "queue_bytes": 50_000}});
        // So far apart that no queue is ever long enough for an AQM.
        let apart = |(number, packet): (u64, &Packet)| Packet { at_ns: packet.at_ns + number * 12_000_000, ..*packet };
        let sparse: Vec<Packet> = (0..).zip(&traffic).map(apart).collect();
        let plain: Vec<Option<u64>> = fates(seed, &[bottleneck("rate")], &sparse).iter().map(due_ns).collect();
        let codel: Vec<Option<u64>> = fates(seed, &[bottleneck("codel")], &sparse).iter().map(due_ns).collect();
        prop_assert_eq!(plain, codel);
    }

    #[test]
    fn a_bucket_lets_its_depth_through_at_once_and_never_more(
        rate_bps in 100_000..1_000_000_000_u64, burst_bytes in 1_500..60_000_u64, traffic in traffic()
    ) {
        let stage = json!({"kind": "rate", "parameters": {"rate_bps": rate_bps, "burst_bytes": burst_bytes}});
        let sent: Vec<(u64, u128)> = fates(1, &[stage], &traffic)
            .iter()
            .zip(&traffic)
            .map(|(fate, packet)| (due_ns(fate).expect("no queue is full"), u128::from(packet.size_bytes) * 8))
            .collect();
        let full = traffic.iter().scan(0, |sum, packet| {
            *sum += u64::from(packet.size_bytes);
            Some(*sum)
        });
        let at_once = full.take_while(|sum| *sum <= burst_bytes).count();
        prop_assert!(sent.iter().zip(&traffic).take(at_once).all(|(sent, packet)| sent.0 == packet.at_ns));
        for first in 0..sent.len() {
            let mut bits = 0;
            for (end_ns, packet_bits) in &sent[first..] {
                bits += packet_bits;
                let allowed = u128::from(rate_bps) * u128::from(end_ns - sent[first].0 + 1);
                prop_assert!(bits * NS_PER_S <= allowed + u128::from(burst_bytes) * 8 * NS_PER_S);
            }
        }
    }

    #[test]
    fn opportunities_carry_their_bytes_and_no_more(
        gaps in prop::collection::vec((1..20_u64, 1..4_u64), 1..20), traffic in traffic()
    ) {
        let mut at_ms = 0;
        let runs: Vec<(u64, u64)> = gaps
            .iter()
            .map(|(gap_ms, count)| {
                at_ms += gap_ms;
                (at_ms * 1_000_000, *count)
            })
            .collect();
        let repeat_ns = at_ms * 1_000_000;
        let stage = json!({"kind": "rate", "parameters": {
            "rate_bps": {"opportunities": {"runs": runs, "bytes": 1500, "repeat_ns": repeat_ns}}}});
        // Link time begins with the first packet.
        let origin_ns = traffic[0].at_ns;
        let mut carried: HashMap<u64, u64> = HashMap::new();
        let mut last_ns = 0;
        for (packet, fate) in traffic.iter().zip(fates(1, &[stage], &traffic)) {
            let due_ns = due_ns(&fate).expect("no queue is full");
            prop_assert!(due_ns >= packet.at_ns && due_ns >= last_ns);
            last_ns = due_ns;
            *carried.entry(due_ns - origin_ns).or_default() += u64::from(packet.size_bytes);
        }
        let total: u64 = carried.values().sum();
        let mut offered = 0;
        for cycle in 0..=(last_ns - origin_ns) / repeat_ns {
            for (at_ns, count) in &runs {
                let time_ns = cycle * repeat_ns + at_ns;
                // A packet may have begun in the opportunities before.
                let bytes = carried.remove(&time_ns).unwrap_or(0);
                prop_assert!(bytes <= count * 1500 + 1500);
                offered += if time_ns <= last_ns - origin_ns { count * 1500 } else { 0 };
            }
        }
        prop_assert!(carried.is_empty(), "packets left between opportunities: {carried:?}");
        prop_assert!(total <= offered);
    }
}

proptest! {
    // Each case is 20,000 packets.
    #![proptest_config(ProptestConfig::with_cases(32))]

    #[test]
    fn losses_lie_within_binomial_bounds(seed: u64, probability in 0.001..0.999_f64) {
        let count = 20_000;
        let traffic = vec![Packet { at_ns: 0, size_bytes: 1500 }; count];
        let lost = fates(seed, &[loss(probability)], &traffic).iter().filter(|fate| lost_at(fate, 0)).count();
        let deviation = (count as f64 * probability * (1.0 - probability)).sqrt();
        // Six standard deviations: one false alarm in 10⁸ cases.
        prop_assert!((lost as f64 - count as f64 * probability).abs() <= 6.0 * deviation + 1.0);
    }
}

#[test]
fn certain_loss_drops_all_and_none_drops_nothing() {
    let traffic = vec![Packet { at_ns: 0, size_bytes: 1500 }; 1_000];
    assert!(fates(3, &[loss(1.0)], &traffic).iter().all(|fate| lost_at(fate, 0)));
    assert!(fates(3, &[loss(0.0)], &traffic).iter().all(|fate| due_ns(fate) == Some(0)));
}

#[test]
fn jitter_with_reordering_reorders_and_is_uniform() {
    let traffic: Vec<Packet> = (0..20_000).map(|k| Packet { at_ns: k * 100_000, size_bytes: 100 }).collect();
    let spent: Vec<u64> = fates(9, &[delay(10_000_000), jitter(5_000_000, true)], &traffic)
        .iter()
        .zip(&traffic)
        .map(|(fate, packet)| due_ns(fate).expect("nothing drops it") - packet.at_ns)
        .collect();
    let mut buckets = HashMap::new();
    for ns in &spent {
        *buckets.entry((ns - 5_000_000) / 1_000_001).or_insert(0_u32) += 1;
    }
    assert_eq!(buckets.len(), 10);
    // 2000 expected in each, standard deviation 42.
    assert!(buckets.values().all(|count| (1_750..2_250).contains(count)), "{buckets:?}");
    let due = spent.iter().zip(&traffic).map(|(ns, packet)| ns + packet.at_ns);
    assert!(!due.is_sorted());
}

#[test]
fn access_of_sparse_packets_is_uniform() {
    let max_ns = 1_200_000;
    let traffic: Vec<Packet> = (0..20_000).map(|k| Packet { at_ns: k * 2 * max_ns, size_bytes: 1500 }).collect();
    let spent: Vec<u64> = fates(5, &[access(max_ns)], &traffic)
        .iter()
        .zip(&traffic)
        .map(|(fate, packet)| due_ns(fate).expect("nothing drops it") - packet.at_ns)
        .collect();
    let mean_ns = spent.iter().sum::<u64>() as f64 / spent.len() as f64;
    // The standard deviation of the mean is max/√12/√20000: a fifth of a percent of max.
    assert!((mean_ns / max_ns as f64 - 0.5).abs() < 0.01, "{mean_ns}");
    let mut buckets = [0_u32; 10];
    for ns in spent {
        buckets[(ns * 10 / (max_ns + 1)) as usize] += 1;
    }
    // 2000 expected in each, standard deviation 42.
    assert!(buckets.iter().all(|count| (1_750..2_250).contains(count)), "{buckets:?}");
}

#[test]
fn access_restores_order_so_that_a_rate_may_follow() {
    let traffic: Vec<Packet> = (0..1_000).map(|k| Packet { at_ns: k * 100_000, size_bytes: 1500 }).collect();
    let stages = [delay(10_000_000), jitter(5_000_000, true), access(1_000), rate(1_000_000_000, 100_000)];
    let due: Vec<u64> = fates(2, &stages, &traffic).iter().filter_map(due_ns).collect();
    assert!(due.is_sorted());
}

#[test]
fn a_whole_link_in_numbers() {
    // 1500 bytes at 12 Mbit/s take 1 ms; the queue holds two packets.
    let traffic = [0, 0, 0, 900_000, 1_000_000, 5_000_000].map(|at_ns| Packet { at_ns, size_bytes: 1500 });
    let outcome: Vec<(Option<u64>, u64, u32)> = fates(1, &[rate(12_000_000, 3_000), delay(10_000_000)], &traffic)
        .iter()
        .map(|fate| (due_ns(fate), fate.queue_bytes, fate.queue_packets))
        .collect();
    let expected = [
        (Some(11_000_000), 0, 0),
        (Some(12_000_000), 1_500, 1),
        (None, 3_000, 2),
        (None, 3_000, 2),
        (Some(13_000_000), 1_500, 1),
        (Some(16_000_000), 0, 0),
    ];
    assert_eq!(outcome, expected);
}

#[test]
fn a_link_without_stages_passes_packets_at_once() {
    let traffic = [Packet { at_ns: 7, size_bytes: 1500 }];
    assert_eq!(due_ns(&fates(1, &[], &traffic)[0]), Some(7));
}

#[test]
fn a_time_that_goes_back_counts_as_the_one_before() {
    let traffic = [Packet { at_ns: 1_000, size_bytes: 100 }, Packet { at_ns: 400, size_bytes: 100 }];
    assert_eq!(due_ns(&fates(1, &[delay(5)], &traffic)[1]), Some(1_005));
}
