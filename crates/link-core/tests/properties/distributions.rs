//! Losses and delays follow their distributions.

use std::collections::HashMap;

use proptest::prelude::*;

use super::links::{Packet, access, delay, due_ns, fates, jitter, loss, lost_at, traffic};

proptest! {
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
}

proptest! {
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
