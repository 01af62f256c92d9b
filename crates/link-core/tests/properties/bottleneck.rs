//! Rates and queues stay within their bounds.

use std::collections::HashMap;

use proptest::prelude::*;
use serde_json::json;

use super::links::{NS_PER_S, Packet, access, arrive, direction_of, due_ns, fates, rate, traffic};

proptest! {
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
