use proptest::prelude::*;
use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{Rng, SeedableRng};
use serde_json::{Value, json};

use crate::common::{Decided, MS, Packet, Run, decide, direction, stage, traffic};

const NS_PER_S: u128 = 1_000_000_000;
const MOST_BYTES: u64 = 20_000;
const MOST_PACKETS: u32 = 30;
/// That is never reached: what is left of an AQM is a rate.
const NEVER_NS: u64 = 3_600_000 * MS;

fn managed(kind: &str, rate: &Value, burst_bytes: u64, ecn: bool) -> Value {
    let mut parameters = json!({"rate_bps": rate, "burst_bytes": burst_bytes, "queue_bytes": MOST_BYTES});
    if kind != "dualpi2" {
        parameters["ecn"] = json!(ecn);
    }
    let own = match kind {
        "dualpi2" => json!({"queue_packets": MOST_PACKETS, "target_ns": 2 * MS, "beta_hz": 20}),
        "red" => json!({"minimum_bytes": 3_000, "maximum_bytes": 12_000, "probability": 0.1, "weight": 0.1}),
        _ => json!({"queue_packets": MOST_PACKETS, "target_ns": 2 * MS, "interval_ns": 20 * MS}),
    };
    parameters.as_object_mut().expect("an object").extend(own.as_object().expect("an object").clone());
    stage(kind, &parameters)
}

fn kind() -> impl Strategy<Value = &'static str> {
    prop::sample::select(vec!["codel", "fq_codel", "red"])
}

/// These, and the one that marks whatever is set and has two queues.
fn kind_or_dual() -> impl Strategy<Value = &'static str> {
    prop_oneof![3 => kind(), 1 => Just("dualpi2")]
}

fn any_rate() -> impl Strategy<Value = Value> {
    let drawn = (100_000..100_000_000_u64)
        .prop_map(|bps| json!({"uniform": {"minimum": 0, "maximum": bps, "every_ns": 3 * MS}}));
    prop_oneof![3 => given_rate(), 1 => drawn]
}

/// Constant, by steps with an outage, and a trace; what is drawn differs from kind to kind.
fn given_rate() -> impl Strategy<Value = Value> {
    let bps = 100_000..100_000_000_u64;
    prop_oneof![
        bps.clone().prop_map(|bps| json!(bps)),
        bps.prop_map(|bps| json!({"steps": [[0, bps], [7 * MS, 0], [30 * MS, 2 * bps]], "repeat_ns": 50 * MS})),
        prop::collection::btree_map(0..20_u64, 1..4_u64, 1..8).prop_map(|runs| {
            let runs: Vec<[u64; 2]> = runs.into_iter().map(|(at, count)| [at * MS, count]).collect();
            json!({"opportunities": {"runs": runs, "bytes": 1500, "repeat_ns": 20 * MS}})
        }),
    ]
}

/// A bucket makes up for what rounding costs; so there must be links without.
fn burst() -> impl Strategy<Value = u64> {
    prop_oneof![Just(0), 1..5_000_u64]
}

fn any_stage() -> impl Strategy<Value = Value> {
    prop_oneof![
        4 => (kind_or_dual(), any_rate(), burst(), any::<bool>()).prop_map(|(kind, rate, burst, ecn)| managed(kind, &rate, burst, ecn)),
        2 => (0.0..=1.0, 1..5_u64, 0..10 * MS).prop_map(|(probability, depth, wait_ns)| {
            stage("reorder", &json!({"probability": probability, "depth_packets": depth, "wait_ns": wait_ns}))
        }),
        1 => (0.0..0.5).prop_map(|probability| stage("loss", &json!({"probability": probability}))),
        1 => (0..5 * MS).prop_map(|delay_ns| stage("delay", &json!({"delay_ns": delay_ns}))),
        1 => (0..5 * MS).prop_map(|jitter_ns| stage("jitter", &json!({"jitter_ns": jitter_ns, "reorder": true}))),
    ]
}

proptest! {
    #[test]
    fn every_packet_has_one_fate_and_none_leaves_early(
        seed: u64, stages in prop::collection::vec(any_stage(), 1..5), traffic in traffic(),
    ) {
        // `decide` itself holds that each has exactly one.
        for (decided, packet) in decide(seed, &stages, &traffic).iter().zip(&traffic) {
            prop_assert!(decided.at_ns >= packet.at_ns);
            prop_assert!(decided.due_ns().is_none_or(|due_ns| due_ns >= decided.at_ns.max(packet.at_ns)));
        }
    }

    #[test]
    fn what_is_decided_does_not_depend_on_how_often_one_asks(
        seed: u64, stages in prop::collection::vec(any_stage(), 1..5), traffic in traffic(), asking: u64,
    ) {
        let end_ns = traffic.last().expect("at least one").at_ns + 4_000_000 * MS;
        let mut rarely = direction(seed, &stages);
        let mut events = Vec::new();
        for packet in &traffic {
            rarely.arrive(packet.at_ns, &packet.info(), &mut events);
        }
        rarely.advance(end_ns, &mut events);
        let mut often = direction(seed, &stages);
        let mut found = Vec::new();
        let mut random = ChaCha8Rng::seed_from_u64(asking);
        let mut now_ns = traffic[0].at_ns;
        for packet in &traffic {
            while random.next_u32() % 4 > 0 && now_ns < packet.at_ns {
                now_ns += random.next_u64() % (packet.at_ns - now_ns + 1);
                often.advance(now_ns, &mut found);
            }
            now_ns = packet.at_ns;
            often.arrive(now_ns, &packet.info(), &mut found);
        }
        while let Some(next_ns) = often.next_event_ns() {
            now_ns += random.next_u64() % (next_ns.max(now_ns) - now_ns + MS);
            often.advance(now_ns, &mut found);
        }
        prop_assert_eq!(found, events);
    }

    #[test]
    fn the_queue_is_what_is_inside_and_never_above_its_bound(
        seed: u64, kind in kind_or_dual(), rate in any_rate(), burst in burst(), ecn: bool, traffic in traffic(),
    ) {
        let mut run = Run::new(seed, &[managed(kind, &rate, burst, ecn)]);
        for (number, packet) in traffic.iter().enumerate() {
            run.advance(packet.at_ns);
            let inside = |run: &Run, until: usize| {
                let of = |index: &usize| {
                    let left = run.decided[*index].as_ref();
                    left.is_none_or(|one| one.due_ns().is_some_and(|due_ns| due_ns > packet.at_ns))
                };
                let sizes: Vec<u64> = (0..until).filter(of).map(|index| u64::from(traffic[index].size_bytes)).collect();
                (sizes.iter().sum::<u64>(), sizes.len() as u32)
            };
            let before = inside(&run, number);
            run.arrive(packet);
            let after = inside(&run, number + 1);
            prop_assert!(after.0 <= MOST_BYTES && (kind == "red" || after.1 <= MOST_PACKETS), "{after:?}");
            if let Some(decided) = &run.decided[number] {
                let met = (decided.fate.queue_bytes, decided.fate.queue_packets);
                // Where a flow queue was full, others may have been dropped in its favour.
                prop_assert!(met == before || kind == "fq_codel" && met.0 <= before.0, "{met:?} of {before:?}");
            }
        }
        prop_assert!(run.direction.max_queue_bytes() <= MOST_BYTES);
        let max_bytes = run.direction.max_queue_bytes();
        for decided in run.finish() {
            prop_assert!(decided.fate.queue_bytes <= MOST_BYTES);
        }
        prop_assert!(max_bytes <= MOST_BYTES);
    }

    #[test]
    fn the_rate_is_never_above_its_bound(
        seed: u64, kind in kind_or_dual(), bps in 1_000_000..10_000_000_000_u64, burst in burst(), traffic in traffic(),
    ) {
        let decided = decide(seed, &[managed(kind, &json!(bps), burst, false)], &traffic);
        let sent = decided.iter().zip(&traffic).filter_map(|(one, packet)| Some((one.due_ns()?, packet.size_bytes)));
        let mut sent: Vec<(u64, u32)> = sent.collect();
        sent.sort_unstable_by_key(|(due_ns, _)| *due_ns);
        for first in 0..sent.len() {
            let mut bytes = 0;
            for last in first + 1..sent.len() {
                // The first packet's own bits left before the window begins.
                bytes += u128::from(sent[last].1);
                let window_ns = u128::from(sent[last].0 - sent[first].0) + 1;
                prop_assert!(bytes * 8 * NS_PER_S <= window_ns * u128::from(bps) + u128::from(burst) * 8 * NS_PER_S);
            }
        }
    }

    #[test]
    fn packets_of_a_flow_keep_their_order(
        seed: u64, kind in kind(), rate in any_rate(), burst in burst(), traffic in traffic(),
    ) {
        let decided = decide(seed, &[managed(kind, &rate, burst, false)], &traffic);
        for flow in 0..5 {
            let all = kind != "fq_codel";
            let due = decided.iter().zip(&traffic).filter(|(_, packet)| all || packet.flow == flow);
            let due: Vec<u64> = due.filter_map(|(one, _)| one.due_ns()).collect();
            prop_assert!(due.is_sorted());
        }
    }

    #[test]
    fn marks_are_for_those_that_can_be_marked(
        seed: u64, kind in kind(), rate in any_rate(), ecn: bool, traffic in traffic(),
    ) {
        for (decided, packet) in decide(seed, &[managed(kind, &rate, 0, ecn)], &traffic).iter().zip(&traffic) {
            prop_assert!(!decided.is_marked() || ecn && matches!(packet.ecn, 1 | 2));
            // RED drops whatever comes while the average is above the maximum.
            prop_assert!(!(ecn && packet.ecn > 0 && kind != "red" && decided.reason() == Some("aqm")));
        }
    }

    #[test]
    fn without_its_signals_an_aqm_is_a_rate(
        seed: u64, rate in given_rate(), burst in burst(), packets in 1..60_u64, traffic in traffic(),
    ) {
        let common = json!({"rate_bps": rate, "burst_bytes": burst});
        let with = |kind: &str, own: Value| {
            let mut parameters = common.clone();
            parameters.as_object_mut().expect("an object").extend(own.as_object().expect("an object").clone());
            let decided = decide(seed, &[stage(kind, &parameters)], &traffic);
            decided.into_iter().map(|one| one.fate).collect::<Vec<_>>()
        };
        let quiet = |most: u64| json!({"queue_packets": most, "target_ns": NEVER_NS, "interval_ns": NEVER_NS});
        prop_assert_eq!(with("codel", quiet(packets)), with("rate", json!({"queue_packets": packets})));
        let expected = with("rate", json!({}));
        let mut one_flow = quiet(100_000);
        one_flow["flows"] = json!(1);
        prop_assert_eq!(&with("fq_codel", one_flow), &expected);
        let high = json!({"queue_bytes": u32::MAX, "minimum_bytes": 1_000_000_000, "maximum_bytes": 2_000_000_000, "probability": 1, "weight": 1});
        prop_assert_eq!(&with("red", high), &expected);
        prop_assert_eq!(&with("step", json!({"threshold_packets": 100_000})), &expected);
    }

    #[test]
    fn one_flow_queue_is_codel(seed: u64, rate in given_rate(), ecn: bool, traffic in traffic(), quantum in 64..3_000_u64) {
        let mut parameters = json!({
            "rate_bps": rate, "target_ns": MS, "interval_ns": 5 * MS, "ecn": ecn, "queue_packets": 100_000,
        });
        let codel = decide(seed, &[stage("codel", &parameters)], &traffic);
        parameters["flows"] = json!(1);
        parameters["quantum_bytes"] = json!(quantum);
        prop_assert_eq!(decide(seed, &[stage("fq_codel", &parameters)], &traffic), codel);
    }

    #[test]
    fn an_added_stage_changes_no_draws(seed: u64, traffic in traffic()) {
        // RED decides by chance; a link before it that passes everything at once leaves it all as it was.
        let red = managed("red", &json!(2_000_000), 0, false);
        let reorder = stage("reorder", &json!({"probability": 0, "depth_packets": 3, "wait_ns": MS}));
        let fates = |stages: &[Value]| decide(seed, stages, &traffic).iter().map(Decided::due_ns).collect::<Vec<_>>();
        prop_assert_eq!(fates(&[reorder, red.clone()]), fates(&[red]));
    }
}

#[test]
fn a_packet_that_comes_when_another_has_left_finds_its_room() {
    for kind in ["rate", "codel", "fq_codel"] {
        let link = stage(kind, &json!({"rate_bps": 12_000_000, "queue_packets": 1}));
        let traffic: Vec<Packet> = (0..10).map(|number| Packet::new(number * MS, 1_500)).collect();
        let decided = decide(1, std::slice::from_ref(&link), &traffic);
        assert!(decided.iter().all(|one| one.due_ns().is_some() && one.fate.queue_packets == 0), "{kind}");
        let early: Vec<Packet> = (0..10).map(|number| Packet::new(number * (MS - 1), 1_500)).collect();
        let decided = decide(1, &[link], &early);
        assert_eq!(decided.iter().filter(|one| one.reason() == Some("queue")).count(), 5, "{kind}");
    }
}

#[test]
fn the_queue_in_the_log_is_that_of_the_first_bottleneck() {
    let slow = stage("codel", &json!({"rate_bps": 1_200_000, "target_ns": NEVER_NS, "interval_ns": NEVER_NS}));
    let fast = stage("fq_codel", &json!({"rate_bps": 12_000_000}));
    let traffic = vec![Packet::new(0, 1_500); 20];
    let queues = |stages: &[Value]| {
        let decided = decide(1, stages, &traffic);
        decided.iter().map(|one| one.fate.queue_packets).collect::<Vec<_>>()
    };
    assert_eq!(queues(&[slow.clone(), fast.clone()]), (0..20).collect::<Vec<_>>());
    assert_eq!(queues(&[fast, slow]), (0..20).collect::<Vec<_>>());
}

#[test]
fn an_outage_counts_as_time_in_the_queue() {
    // No rate from 10 ms to 200 ms. At 10 ms ten of the packets have left.
    let rate = json!({"steps": [[0, 12_000_000], [10 * MS, 0], [200 * MS, 12_000_000]]});
    let codel = stage("codel", &json!({"rate_bps": rate}));
    let mut traffic = vec![Packet::new(0, 1_500); 60];
    traffic.extend((0..100).map(|number| Packet::new(200 * MS + number * MS, 1_500)));
    let decided = decide(1, std::slice::from_ref(&codel), &traffic);
    // None is taken from the queue while nothing can be sent, so that the first one to leave has waited for all of it.
    assert_eq!((decided[9].due_ns(), decided[9].at_ns), (Some(10 * MS), 9 * MS));
    assert_eq!((decided[10].reason(), decided[10].at_ns), (Some("aqm"), 200 * MS));
    // The same where the queue was empty when it began; the first drop then comes an interval later.
    let mut traffic = vec![Packet::new(0, 1_500)];
    traffic.extend((0..60).map(|number| Packet::new(20 * MS + number, 1_500)));
    traffic.extend((0..100).map(|number| Packet::new(200 * MS + number * MS, 1_500)));
    let decided = decide(1, &[codel], &traffic);
    assert_eq!(decided[1].at_ns, 200 * MS);
    let first = decided.iter().find(|one| one.reason() == Some("aqm")).expect("it stays above the target");
    assert_eq!(first.at_ns, 300 * MS);
}
