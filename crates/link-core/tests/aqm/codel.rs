use std::collections::VecDeque;

use proptest::prelude::*;
use serde_json::{Value, json};

use crate::common::{Decided, ECT0, MS, Packet, Run, count, decide, stage, traffic, try_direction};
use crate::reference::{Outcome, Reference};

const TARGET_NS: u64 = 5 * MS;
const INTERVAL_NS: u64 = 100 * MS;

fn codel(parameters: &Value) -> Value {
    stage("codel", parameters)
}

/// More than the rate for ever: packets of 1500 bytes at twice 12 Mbit/s.
fn overload(count: u64) -> Vec<Packet> {
    (0..count).map(|number| Packet::new(number * MS / 2, 1_500)).collect()
}

fn outcome(decided: &Decided) -> Outcome {
    match (decided.reason(), decided.due_ns()) {
        (Some("aqm"), _) => Outcome::Early,
        (Some("queue"), _) => Outcome::Full,
        (None, Some(due_ns)) => Outcome::Sent { due_ns, marked: decided.is_marked() },
        other => panic!("{other:?}"),
    }
}

proptest! {
    #[test]
    fn decides_as_the_reference_does(
        traffic in traffic(),
        byte_ns in prop::sample::select(vec![80_u64, 800, 1_000, 8_000]),
        target_ns in 1..20 * MS,
        more_ns in 0..100 * MS,
        ecn: bool,
        most_bytes in 3_000..200_000_u64,
        most_packets in 1..200_usize,
    ) {
        let interval_ns = target_ns + more_ns;
        let stages = [codel(&json!({
            "rate_bps": 8_000_000_000 / byte_ns, "queue_bytes": most_bytes, "queue_packets": most_packets,
            "target_ns": target_ns, "interval_ns": interval_ns, "ecn": ecn,
        }))];
        // The reference has no link time.
        let begin_ns = traffic[0].at_ns;
        let traffic: Vec<Packet> =
            traffic.iter().map(|packet| Packet { at_ns: packet.at_ns - begin_ns, ..*packet }).collect();
        let reference = Reference::new(byte_ns, target_ns, interval_ns, ecn, most_bytes, most_packets);
        let found: Vec<Outcome> = decide(1, &stages, &traffic).iter().map(outcome).collect();
        prop_assert_eq!(found, reference.run(&traffic));
    }
}

#[test]
fn the_reference_is_put_to_the_test() {
    // That what it is compared on has early drops, marks and full queues at all.
    let traffic: Vec<Packet> =
        overload(4_000).iter().enumerate().map(|(n, packet)| Packet { ecn: (n / 3 % 3) as u8, ..*packet }).collect();
    let outcomes = Reference::new(1_000, TARGET_NS, INTERVAL_NS, true, 1 << 20, 60).run(&traffic);
    let of = |wanted: fn(&Outcome) -> bool| outcomes.iter().filter(|one| wanted(one)).count();
    assert!(of(|one| *one == Outcome::Early) > 10);
    assert!(of(|one| *one == Outcome::Full) > 100);
    assert!(of(|one| matches!(one, Outcome::Sent { marked: true, .. })) > 10);
}

#[test]
fn drops_come_at_the_intervals_of_the_control_law() {
    let traffic = overload(4_000);
    let decided = decide(1, &[codel(&json!({"rate_bps": 12_000_000, "queue_packets": 100_000}))], &traffic);
    let drops: Vec<u64> = decided.iter().filter(|one| one.reason() == Some("aqm")).map(|one| one.at_ns).collect();
    // The packet in transmission is 1 ms long: the n-th one is dequeued at n ms, having waited n/2 ms. So the time in
    // the queue is at the target at 10 ms, and one interval later comes the first drop.
    assert_eq!(drops[0], 10 * MS + INTERVAL_NS);
    let mut expected_ns = drops[0] as f64;
    for (number, drop_ns) in drops.iter().enumerate().skip(1) {
        expected_ns += INTERVAL_NS as f64 / (number as f64).sqrt();
        let late_ns = *drop_ns as f64 - expected_ns;
        assert!((-(number as f64)..=1e6).contains(&late_ns), "drop {number}: {late_ns} ns late");
    }
    assert!(drops.len() > 100, "{}", drops.len());
}

#[test]
fn a_full_queue_drops_what_comes() {
    // The numbers of ns-3's CoDelQueueDiscBasicOverflow: 503 packets of 1000 bytes at once, room for 500.
    for limit in [json!({"queue_packets": 500}), json!({"queue_packets": 1_000, "queue_bytes": 500_000})] {
        let mut parameters = limit;
        parameters["rate_bps"] = json!(1_000_000_000);
        let traffic = vec![Packet::new(0, 1_000); 503];
        let decided = decide(1, &[codel(&parameters)], &traffic);
        assert_eq!(count(&decided, "queue"), 3);
        assert!(decided[..500].iter().all(|one| one.due_ns().is_some()));
        assert_eq!(decided[499].fate.queue_bytes, 499_000);
        assert_eq!(decided[502].fate.queue_packets, 500);
    }
}

#[test]
fn a_mark_is_enough_for_a_packet_that_can_be_marked() {
    let stages = |ecn: bool| [codel(&json!({"rate_bps": 12_000_000, "queue_packets": 100_000, "ecn": ecn}))];
    let with = |ecn: u8| overload(1_500).into_iter().map(|packet| Packet { ecn, ..packet }).collect::<Vec<_>>();
    let marked = |decided: &[Decided]| decided.iter().filter(|one| one.is_marked()).count();
    for capable in [1, ECT0] {
        let decided = decide(1, &stages(true), &with(capable));
        assert_eq!(count(&decided, "aqm"), 0);
        assert!(marked(&decided) > 20);
    }
    let decided = decide(1, &stages(true), &with(0));
    assert!(count(&decided, "aqm") > 20);
    assert_eq!(marked(&decided), 0);
    let decided = decide(1, &stages(true), &with(3));
    assert_eq!((count(&decided, "aqm"), marked(&decided)), (0, 0), "it has a mark, and needs no other");
    let decided = decide(1, &stages(false), &with(ECT0));
    assert!(count(&decided, "aqm") > 20);
    assert_eq!(marked(&decided), 0);
}

const SENDERS: usize = 4;
const ROUND_TRIP_NS: u64 = 40 * MS;

/// Adds a packet to its window each round trip and halves it at a loss or mark.
struct Sender {
    window: f64,
    flying: f64,
    reduced_until: usize,
}

/// Four such senders for 40 s: how long each packet waited, in rising order, and the share of the rate that was used,
/// both in the second half.
fn waits(link: &Value, packet_ns: u64, ecn: u8) -> (Vec<u64>, f64) {
    const END_NS: u64 = 40_000 * MS;
    let mut run = Run::new(1, std::slice::from_ref(link));
    let mut senders: Vec<Sender> =
        (0..SENDERS).map(|_| Sender { window: 10.0, flying: 0.0, reduced_until: 0 }).collect();
    let (mut now_ns, mut settled) = (0_u64, 0);
    let mut sent: Vec<(u64, usize)> = Vec::new();
    let mut acknowledged: VecDeque<(u64, usize, bool)> = VecDeque::new();
    while now_ns < END_NS {
        for (index, sender) in senders.iter_mut().enumerate() {
            while sender.flying + 1.0 <= sender.window {
                run.arrive(&Packet { at_ns: now_ns, size_bytes: 1_500, flow: index as u64, ecn });
                sent.push((now_ns, index));
                sender.flying += 1.0;
            }
        }
        // What becomes of a packet is known to its sender a round trip after it left the queue.
        while let Some(Some(decided)) = run.decided.get(settled) {
            let left_ns = decided.due_ns().unwrap_or(decided.at_ns);
            acknowledged.push_back((
                left_ns + ROUND_TRIP_NS,
                settled,
                decided.due_ns().is_some() && !decided.is_marked(),
            ));
            settled += 1;
        }
        let next_event_ns = run.direction.next_event_ns().unwrap_or(u64::MAX);
        now_ns = next_event_ns.min(acknowledged.front().map_or(u64::MAX, |one| one.0)).max(now_ns);
        run.advance(now_ns);
        while acknowledged.front().is_some_and(|one| one.0 <= now_ns) {
            let Some((_, number, good)) = acknowledged.pop_front() else { break };
            let sender = &mut senders[sent[number].1];
            sender.flying -= 1.0;
            if good {
                sender.window += 1.0 / sender.window;
            } else if number >= sender.reduced_until {
                sender.window = (sender.window / 2.0).max(2.0);
                sender.reduced_until = sent.len();
            }
        }
    }
    let late = run.decided.iter().zip(&sent).filter_map(|(decided, (sent_ns, _))| {
        let due_ns = decided.as_ref()?.due_ns()?;
        (*sent_ns > END_NS / 2).then(|| due_ns - packet_ns - sent_ns)
    });
    let mut waits: Vec<u64> = late.collect();
    waits.sort_unstable();
    let used = waits.len() as f64 * packet_ns as f64 / (END_NS / 2) as f64;
    (waits, used)
}

#[test]
fn a_standing_queue_is_brought_to_the_target() {
    // 24 Mbit/s and 40 ms: 80 packets in flight.
    let packet_ns = MS / 2;
    let parameters = json!({"rate_bps": 24_000_000, "queue_packets": 300});
    let (found, used) = waits(&stage("rate", &parameters), packet_ns, 0);
    let median_ns = found[found.len() / 2];
    assert!(used > 0.98 && median_ns > 80 * MS, "drop-tail: {used}, {median_ns} ns");
    for ecn in [0, ECT0] {
        let mut parameters = parameters.clone();
        parameters["ecn"] = json!(true);
        let (found, used) = waits(&codel(&parameters), packet_ns, ecn);
        let median_ns = found[found.len() / 2];
        assert!((TARGET_NS / 2..=2 * TARGET_NS).contains(&median_ns), "ecn {ecn}: {median_ns} ns");
        assert!(used > 0.9, "ecn {ecn}: {used} of the rate");
    }
}

#[test]
fn a_packet_alone_is_never_dropped() {
    // However long it waits: at 1 kbit/s a packet takes 12 s, and at most one waits for it.
    let stages = [codel(&json!({"rate_bps": 1_000}))];
    let traffic: Vec<Packet> = (0..50).map(|number| Packet::new(number * 11_900 * MS, 1_500)).collect();
    let decided = decide(1, &stages, &traffic);
    assert!(decided.iter().all(|one| one.due_ns().is_some()));
    assert!(decided.iter().zip(&traffic).any(|(one, packet)| one.due_ns() > Some(packet.at_ns + 16_000 * MS)));
}

#[test]
fn contradictory_parameters_are_refused() {
    let refused = |parameters: &Value| try_direction(1, &[codel(parameters)]).err().expect("refused");
    let error = refused(&json!({"rate_bps": 1_000_000, "target_ns": 200 * MS}));
    assert!(error.contains("up, stage 0 (codel)") && error.contains("`target_ns`") && error.contains("`interval_ns`"));
    assert!(refused(&json!({"rate_bps": 1_000_000, "queue_packets": 0})).contains("`queue_packets`"));
    assert!(refused(&json!({"queue_packets": 10})).contains("`rate_bps` is missing"));
}
