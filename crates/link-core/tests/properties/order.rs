//! Packets keep their order unless a stage reorders them.

use longlook_link_core::InFlight;
use proptest::prelude::*;

use super::links::{Packet, access, delay, due_ns, fates, jitter, rate, stage, traffic};

proptest! {
    #[test]
    fn order_is_kept_unless_a_stage_reorders(
        seed: u64, stages in prop::collection::vec(stage(), 0..6), traffic in traffic()
    ) {
        let due: Vec<u64> = fates(seed, &stages, &traffic).iter().filter_map(due_ns).collect();
        prop_assert!(due.is_sorted());
    }

    #[test]
    fn packets_leave_inside_in_order_of_due_time_then_sequence(due in prop::collection::vec(0..50_u64, 0..200)) {
        let mut inside = InFlight::default();
        for (sequence, due_ns) in (0..).zip(&due) {
            inside.push(*due_ns, sequence, (*due_ns, sequence));
        }
        let out: Vec<(u64, u64)> = inside.drain().collect();
        prop_assert!(out.is_sorted());
        prop_assert_eq!(out.len(), due.len());
    }

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
}

#[test]
fn access_restores_order_so_that_a_rate_may_follow() {
    let traffic: Vec<Packet> = (0..1_000).map(|k| Packet { at_ns: k * 100_000, size_bytes: 1500 }).collect();
    let stages = [delay(10_000_000), jitter(5_000_000, true), access(1_000), rate(1_000_000_000, 100_000)];
    let due: Vec<u64> = fates(2, &stages, &traffic).iter().filter_map(due_ns).collect();
    assert!(due.is_sorted());
}
