//! Random draws belong to the number of a packet and to one stage.

use proptest::prelude::*;
use serde_json::json;

use super::links::{Packet, access, delay, due_ns, fates, jitter, loss, lost_at, rate, stage, traffic};

proptest! {
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
}
