//! Rules that look at a packet.

use longlook_link_core::{Config, NatTimes, PacketInfo, Rebindings, Transport};
use proptest::prelude::*;
use serde_json::{Value, json};

use crate::common::{Arrival, Decided, configuration, fates_of, stage, steady};

const TRANSPORTS: [Transport; 4] = [Transport::Udp, Transport::Tcp, Transport::Icmp, Transport::Other];

fn packets(of: &[(Transport, u32, u64)]) -> Vec<Arrival> {
    let arrival = |(number, &(transport, size_bytes, flow)): (usize, &(Transport, u32, u64))| Arrival {
        at_ns: number as u64 * 1_000_000,
        info: PacketInfo { size_bytes, transport, flow, ecn: 0 },
    };
    of.iter().enumerate().map(arrival).collect()
}

fn is_of(protocol: &str, transport: Transport) -> bool {
    match protocol {
        "udp" => transport == Transport::Udp,
        "tcp" => transport == Transport::Tcp,
        "icmp" => transport == Transport::Icmp,
        _ => true,
    }
}

fn traffic() -> impl Strategy<Value = Vec<(Transport, u32, u64)>> {
    prop::collection::vec((prop::sample::select(&TRANSPORTS[..]), 20..=1_500_u32, 0..6_u64), 1..200)
}

fn protocol() -> impl Strategy<Value = &'static str> {
    prop::sample::select(&["udp", "tcp", "icmp", "any"][..])
}

proptest! {
    #[test]
    fn a_block_is_for_its_protocol(traffic in traffic(), protocol in protocol()) {
        let fates = fates_of(1, &[stage("block", &json!({"protocol": protocol}))], &packets(&traffic));
        for (one, (transport, ..)) in fates.iter().zip(&traffic) {
            prop_assert_eq!(one.reason(), is_of(protocol, *transport).then_some("block"));
        }
    }

    #[test]
    fn a_size_filter_drops_from_its_size_on(traffic in traffic(), protocol in protocol(), minimum_bytes in 1..1_600_u32) {
        let filter = stage("size_filter", &json!({"protocol": protocol, "minimum_bytes": minimum_bytes}));
        for (one, (transport, size_bytes, _)) in fates_of(1, &[filter], &packets(&traffic)).iter().zip(&traffic) {
            let dropped = is_of(protocol, *transport) && *size_bytes >= minimum_bytes;
            prop_assert_eq!(one.reason(), dropped.then_some("size_filter"));
        }
    }

    #[test]
    fn a_size_condition_spares_small_packets_and_changes_no_draw(
        seed: u64, traffic in traffic(), above_bytes in 0..1_600_u32,
    ) {
        for (kind, parameters) in [
            ("loss", json!({"probability": 0.5})),
            ("jitter", json!({"jitter_ns": 900_000, "reorder": true})),
            ("reorder", json!({"probability": 0.5, "depth_packets": u32::MAX, "wait_ns": 500_000})),
        ] {
            let mut conditional = parameters.clone();
            conditional["above_bytes"] = json!(above_bytes);
            let delay = stage("delay", &json!({"delay_ns": 1_000_000}));
            let arrivals = packets(&traffic);
            let calm = fates_of(seed, std::slice::from_ref(&delay), &arrivals);
            let all = fates_of(seed, &[delay.clone(), stage(kind, &parameters)], &arrivals);
            let found = fates_of(seed, &[delay, stage(kind, &conditional)], &arrivals);
            for (number, (_, size_bytes, _)) in traffic.iter().enumerate() {
                let expected = if *size_bytes > above_bytes { &all[number] } else { &calm[number] };
                prop_assert_eq!(found[number].reason(), expected.reason());
                prop_assert_eq!(found[number].due_ns(), expected.due_ns());
            }
        }
    }

    #[test]
    fn a_cutoff_counts_each_flow_for_itself(traffic in traffic(), protocol in protocol(), count in 1..30_usize) {
        let cutoff = stage("cutoff", &json!({"protocol": protocol, "packets": count}));
        let fates = fates_of(1, &[cutoff], &packets(&traffic));
        for flow in 0..6 {
            let own = fates.iter().zip(&traffic).filter(|(_, (transport, _, of))| *of == flow && is_of(protocol, *transport));
            for (place, (one, _)) in own.enumerate() {
                prop_assert_eq!(one.reason(), (place >= count).then_some("cutoff"));
            }
        }
        let others = fates.iter().zip(&traffic).filter(|(_, (transport, ..))| !is_of(protocol, *transport));
        prop_assert!(others.into_iter().all(|(one, _)| !one.is_lost()));
    }

    #[test]
    fn an_mtu_is_the_largest_that_passes(
        traffic in traffic(), mtu_bytes in 68..1_600_u32, icmp: bool, claimed_bytes in prop_oneof![Just(0), 1..1_600_u32]
    ) {
        let mtu = stage("mtu", &json!({"mtu_bytes": mtu_bytes, "icmp": icmp, "claimed_bytes": claimed_bytes}));
        let named = if claimed_bytes > 0 { claimed_bytes } else { mtu_bytes };
        for (one, (_, size_bytes, _)) in fates_of(1, &[mtu], &packets(&traffic)).iter().zip(&traffic) {
            let large = *size_bytes > mtu_bytes;
            prop_assert_eq!(one.reason(), large.then_some("mtu"));
            prop_assert_eq!(one.fate.edits.icmp_mtu, if large && icmp { named } else { 0 });
        }
    }

    #[test]
    fn the_epoch_counts_the_rebindings_so_far(
        rebind_ns in 0..200_000_000_u64, repeat_ns in prop_oneof![Just(0_u64), 1_000_000..100_000_000_u64], traffic in traffic()
    ) {
        let nat = stage("nat", &json!({"rebind_ns": rebind_ns, "repeat_ns": repeat_ns}));
        let arrivals = packets(&traffic);
        for (one, arrival) in fates_of(1, &[nat], &arrivals).iter().zip(&arrivals) {
            let times = (0..).map(|turn| rebind_ns + turn * repeat_ns).take(if repeat_ns == 0 { 1 } else { 1_000 });
            let epoch = times.take_while(|at_ns| *at_ns <= arrival.at_ns).count() as u32;
            let expected = if arrival.info.transport == Transport::Udp { epoch } else { 0 };
            prop_assert_eq!(one.fate.edits.nat_epoch, expected);
            prop_assert_eq!(Rebindings { rebind_ns, repeat_ns }.epoch_at(arrival.at_ns), epoch);
        }
    }
}

#[test]
fn the_router_learns_the_times_of_the_nat() {
    let of = |stages: &[Value]| Config::from_json(&configuration(1, stages, &[])).expect("valid").nat();
    let nat = stage("nat", &json!({"rebind_ns": 5, "repeat_ns": 7_000_000}));
    let timeout = stage("nat_timeout", &json!({"timeout_ns": 30_000_000_000_u64}));
    let rebindings = Some(Rebindings { rebind_ns: 5, repeat_ns: 7_000_000 });
    let fixed = NatTimes { rebindings, timeout_ns: None };
    assert_eq!(of(&[stage("delay", &json!({"delay_ns": 1})), nat.clone()]), Some(fixed));
    let once = NatTimes { rebindings: Some(Rebindings { rebind_ns: 5, repeat_ns: 0 }), timeout_ns: None };
    assert_eq!(of(&[stage("nat", &json!({"rebind_ns": 5}))]), Some(once));
    let silent = NatTimes { rebindings: None, timeout_ns: Some(30_000_000_000) };
    assert_eq!(of(std::slice::from_ref(&timeout)), Some(silent));
    assert_eq!(of(&[nat, timeout]), Some(NatTimes { rebindings, ..silent }));
    assert_eq!(of(&[]), None);
}

#[test]
fn epochs_never_overflow() {
    let times = Rebindings { rebind_ns: 0, repeat_ns: 1 };
    assert_eq!(times.epoch_at(u64::MAX), u32::MAX);
    assert_eq!(Rebindings { rebind_ns: u64::MAX, repeat_ns: 0 }.epoch_at(u64::MAX - 1), 0);
}

#[test]
fn an_mtu_may_change_on_the_way() {
    let when = json!({"steps": [[0, 1_500], [3_000_000, 1_100], [6_000_000, 1_200]]});
    let fates = fates_of(1, &[stage("mtu", &json!({"mtu_bytes": when, "icmp": true}))], &steady(8));
    let reported: Vec<u32> = fates.iter().map(|one| one.fate.edits.icmp_mtu).collect();
    assert_eq!(reported, [0, 0, 0, 1_100, 1_100, 1_100, 0, 0]);
}

#[test]
fn a_cutoff_counts_copies_and_what_comes_late() {
    let cutoff = stage("cutoff", &json!({"protocol": "udp", "packets": 5}));
    let twice = stage("duplicate", &json!({"probability": 1}));
    let lost: Vec<bool> = fates_of(1, &[twice, cutoff.clone()], &steady(4)).iter().map(Decided::is_lost).collect();
    assert_eq!(lost, [false, false, false, false, false, true, true, true]);
    // Behind a stage that reorders, the first are those that come first there, not those that were sent first.
    let jitter = stage("jitter", &json!({"jitter_ns": 20_000_000, "reorder": true}));
    let mut passed = fates_of(1, std::slice::from_ref(&jitter), &steady(40));
    passed.sort_by_key(|one| (one.due_ns(), one.number));
    let mut expected: Vec<u64> = passed.iter().take(5).map(|one| one.number).collect();
    expected.sort_unstable();
    let fates = fates_of(1, &[jitter, cutoff], &steady(40));
    let passing: Vec<u64> = fates.iter().filter(|one| !one.is_lost()).map(|one| one.number).collect();
    assert_eq!(passing, expected);
    assert!(expected.windows(2).any(|pair| pair[1] != pair[0] + 1), "nothing was reordered");
}
