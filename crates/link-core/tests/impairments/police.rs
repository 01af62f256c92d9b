//! A policer never lets more through than its bucket and its rate give, over any window, and no less than it must.

use longlook_link_core::{PacketInfo, Transport};
use proptest::prelude::*;
use serde_json::{Value, json};

use crate::common::{Arrival, fates_of, stage};

const NS_PER_S: u128 = 1_000_000_000;

fn police(protocol: &str, rate_bps: &Value, burst_bytes: u64) -> Value {
    stage("police", &json!({"protocol": protocol, "rate_bps": rate_bps, "burst_bytes": burst_bytes}))
}

/// Bursts and pauses, most of it UDP. The first packet comes at link time 0.
fn traffic() -> impl Strategy<Value = Vec<Arrival>> {
    let gap = prop_oneof![3 => Just(0_u64), 3 => 1..2_000_000_u64, 1 => 0..50_000_000_u64];
    let transport = prop_oneof![4 => Just(Transport::Udp), 1 => Just(Transport::Tcp)];
    prop::collection::vec((gap, 20..=1_500_u32, transport), 1..150).prop_map(|steps| {
        let mut next_ns = 0;
        let arrival = |(gap_ns, size_bytes, transport)| {
            let at_ns = next_ns;
            next_ns += gap_ns;
            Arrival { at_ns, info: PacketInfo { size_bytes, transport, ..PacketInfo::default() } }
        };
        steps.into_iter().map(arrival).collect()
    })
}

/// What passed, as (time, bytes).
fn passed(link: &[Value], traffic: &[Arrival]) -> Vec<(u64, u64)> {
    let fates = fates_of(1, link, traffic);
    let own = fates.iter().filter(|one| traffic[one.number as usize].info.transport == Transport::Udp);
    own.filter_map(|one| Some((one.due_ns()?, u64::from(traffic[one.number as usize].info.size_bytes)))).collect()
}

/// Asserts the bound; `supplied` gives the bit-nanoseconds per second from the start to a time, that included.
fn assert_bound(passed: &[(u64, u64)], burst_bytes: u64, supplied: impl Fn(u64) -> u128) -> Result<(), TestCaseError> {
    let supplied: Vec<u128> = passed.iter().map(|(at_ns, _)| supplied(*at_ns)).collect();
    for first in 0..passed.len() {
        let mut used = 0;
        for last in first..passed.len() {
            used += units(passed[last].1);
            let most = units(burst_bytes) + supplied[last] - supplied[first];
            prop_assert!(used <= most, "too much from {} to {} ns", passed[first].0, passed[last].0);
        }
    }
    Ok(())
}

fn units(bytes: u64) -> u128 {
    u128::from(bytes) * 8 * NS_PER_S
}

/// What a bucket lets through that is filled by `supplied`, packet by packet.
fn expected(traffic: &[Arrival], burst_bytes: u64, supplied: impl Fn(u64) -> u128) -> Vec<(u64, u64)> {
    let (mut tokens, mut before) = (units(burst_bytes), 0);
    let mut is_covered = |arrival: &&Arrival| {
        let now = supplied(arrival.at_ns);
        tokens = units(burst_bytes).min(tokens + (now - before));
        before = now;
        let covered = tokens >= units(u64::from(arrival.info.size_bytes));
        tokens -= if covered { units(u64::from(arrival.info.size_bytes)) } else { 0 };
        covered
    };
    let own = traffic.iter().filter(|arrival| arrival.info.transport == Transport::Udp);
    let passed = own.filter(|arrival| is_covered(arrival));
    passed.map(|arrival| (arrival.at_ns, u64::from(arrival.info.size_bytes))).collect()
}

proptest! {
    #[test]
    fn a_constant_rate_bounds_every_window(
        traffic in traffic(), rate_bps in 1_000..100_000_000_u64, burst_bytes in 1_500..20_000_u64
    ) {
        let passed = passed(&[police("udp", &json!(rate_bps), burst_bytes)], &traffic);
        let by = |at_ns: u64| u128::from(at_ns) * u128::from(rate_bps);
        assert_bound(&passed, burst_bytes, by)?;
        prop_assert_eq!(passed, expected(&traffic, burst_bytes, by));
    }

    #[test]
    fn a_changing_rate_bounds_every_window(
        traffic in traffic(), first in 1_000..50_000_000_u64, second in 0..50_000_000_u64,
        change_ns in 1..9_000_000_u64, burst_bytes in 1_500..10_000_u64
    ) {
        const REPEAT_NS: u64 = 10_000_000;
        let second = if second < 1_000 { 0 } else { second };
        let rate = json!({"steps": [[0, first], [change_ns, second]], "repeat_ns": REPEAT_NS});
        let passed = passed(&[police("udp", &rate, burst_bytes)], &traffic);
        let by = |at_ns: u64| {
            let (cycles, inside_ns) = (at_ns / REPEAT_NS, at_ns % REPEAT_NS);
            let part = |inside_ns: u64| {
                u128::from(inside_ns.min(change_ns)) * u128::from(first)
                    + u128::from(inside_ns.saturating_sub(change_ns)) * u128::from(second)
            };
            u128::from(cycles) * part(REPEAT_NS) + part(inside_ns)
        };
        assert_bound(&passed, burst_bytes, by)?;
        prop_assert_eq!(passed, expected(&traffic, burst_bytes, by));
    }

    #[test]
    fn a_trace_bounds_every_window(
        traffic in traffic(), runs in prop::collection::btree_map(0..=5_000_000_u64, 1..4_u64, 1..6),
        burst_bytes in 1_500..10_000_u64
    ) {
        const REPEAT_NS: u64 = 5_000_000;
        let list: Vec<(u64, u64)> = runs.clone().into_iter().collect();
        let rate = json!({"opportunities": {"runs": list, "bytes": 1_500, "repeat_ns": REPEAT_NS}});
        let passed = passed(&[police("udp", &rate, burst_bytes)], &traffic);
        let by = |at_ns: u64| {
            let moments = list.iter().map(|(first_ns, count)| {
                // This one of each cycle that has come to it.
                let cycles = at_ns.checked_sub(*first_ns).map_or(0, |since_ns| since_ns / REPEAT_NS + 1);
                u128::from(cycles * count)
            });
            moments.sum::<u128>() * 1_500 * 8 * NS_PER_S
        };
        assert_bound(&passed, burst_bytes, by)?;
        prop_assert_eq!(passed, expected(&traffic, burst_bytes, by));
    }

    #[test]
    fn only_its_protocol_is_policed(traffic in traffic()) {
        let fates = fates_of(1, &[police("udp", &json!(1_000), 1_500)], &traffic);
        for one in &fates {
            let tcp = traffic[one.number as usize].info.transport == Transport::Tcp;
            prop_assert!(!(tcp && one.is_lost()));
            prop_assert!(one.reason().is_none_or(|reason| reason == "police"));
        }
    }

    /// The bound holds at the stage, also where packets reach it in another order than that of their arrival.
    #[test]
    fn the_bound_holds_behind_a_stage_that_reorders(seed: u64, traffic in traffic(), burst_bytes in 1_500..10_000_u64) {
        let jitter = stage("jitter", &json!({"jitter_ns": 20_000_000, "reorder": true}));
        let link = [jitter, police("udp", &json!(1_000_000), burst_bytes)];
        let fates = fates_of(seed, &link, &traffic);
        let own = fates.iter().filter(|one| traffic[one.number as usize].info.transport == Transport::Udp);
        let mut passed: Vec<(u64, u64)> =
            own.filter_map(|one| Some((one.due_ns()?, u64::from(traffic[one.number as usize].info.size_bytes)))).collect();
        passed.sort_unstable();
        assert_bound(&passed, burst_bytes, |at_ns| u128::from(at_ns) * 1_000_000)?;
    }
}

#[test]
fn a_flood_gets_its_bucket_and_its_rate_to_the_last_packet() {
    // 1000 bytes each 0.1 ms are 80 Mbit/s; 8 Mbit/s let one of ten through.
    let info = PacketInfo { size_bytes: 1_000, transport: Transport::Udp, ..PacketInfo::default() };
    let traffic: Vec<Arrival> = (0..10_000).map(|number| Arrival { at_ns: number * 100_000, info }).collect();
    let passed = passed(&[police("udp", &json!(8_000_000), 20_000)], &traffic);
    // At once 20, in 999.9 ms 999 more.
    assert_eq!(passed.len(), 20 + 999);
}

#[test]
fn a_bucket_is_full_at_the_start_and_after_any_pause_and_never_fuller() {
    let info = PacketInfo { size_bytes: 1_500, transport: Transport::Udp, ..PacketInfo::default() };
    let rates = [
        json!(1_000_000),
        json!({"steps": [[0, 1_000_000], [500_000_000, 2_000_000]], "repeat_ns": 1_000_000_000}),
        json!({"opportunities": {"runs": [[1_000_000, 1]], "bytes": 1_500, "repeat_ns": 10_000_000}}),
    ];
    for rate in rates {
        let starts = [0, 3_600_000_000_000];
        let traffic: Vec<Arrival> =
            starts.iter().flat_map(|&at_ns| (0..10).map(move |_| Arrival { at_ns, info })).collect();
        let passed = passed(&[police("any", &rate, 6_000)], &traffic);
        assert_eq!(passed.len(), 8, "{rate}");
    }
}

#[test]
fn an_opportunity_counts_from_its_very_moment_and_the_last_of_each_cycle_too() {
    let info = PacketInfo { size_bytes: 1_500, transport: Transport::Udp, ..PacketInfo::default() };
    let traffic: Vec<Arrival> = (0..32).map(|number| Arrival { at_ns: number * 1_000_000, info }).collect();
    let trace =
        json!({"opportunities": {"runs": [[1_000_000, 1], [10_000_000, 1]], "bytes": 1_500, "repeat_ns": 10_000_000}});
    let passed = passed(&[police("udp", &trace, 1_500)], &traffic);
    let times_ms: Vec<u64> = passed.iter().map(|(at_ns, _)| at_ns / 1_000_000).collect();
    assert_eq!(times_ms, [0, 1, 10, 11, 20, 21, 30, 31]);
}
