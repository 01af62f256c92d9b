use serde_json::{Value, json};

use crate::common::{Decided, ECT0, MS, Packet, count, decide, stage, try_direction};

const ECT1: u8 = 1;
const CE: u8 = 3;
/// One byte each microsecond.
const RATE_BPS: u64 = 8_000_000;
const NEVER_NS: u64 = 3_600_000 * MS;

fn dualpi2(parameters: &Value) -> Value {
    let mut all = json!({"rate_bps": RATE_BPS});
    all.as_object_mut().expect("an object").extend(parameters.as_object().expect("an object").clone());
    stage("dualpi2", &all)
}

/// Packets of 1000 bytes at the link's rate behind `standing` that come at once.
fn held(standing: u64, count: u64, ecn: u8) -> Vec<Packet> {
    let packet = |at_ns| Packet { ecn, ..Packet::new(at_ns, 1_000) };
    (0..standing).map(|_| packet(0)).chain((1..=count).map(|number| packet(number * MS))).collect()
}

/// The share of packets that are marked or dropped while the queue makes p' a quarter: without an integral part p' is
/// the proportional gain times the wait, of 20 ms here.
fn share_at_a_quarter(ecn: u8, more: &Value) -> f64 {
    let mut parameters = json!({"alpha_hz": 0, "beta_hz": 12.5, "step_ns": NEVER_NS});
    parameters.as_object_mut().expect("an object").extend(more.as_object().expect("an object").clone());
    let decided = decide(3, &[dualpi2(&parameters)], &held(21, 60_000, ecn));
    let settled = &decided[1_000..];
    settled.iter().filter(|one| one.is_marked()).count() as f64 / settled.len() as f64
}

#[track_caller]
fn close(share: f64, expected: f64) {
    let deviation = (expected * (1.0 - expected) / 59_000.0).sqrt();
    assert!((share - expected).abs() <= 4.0 * deviation + 0.02 * expected, "{share} instead of {expected}");
}

#[test]
fn classic_traffic_has_the_square_and_l4s_traffic_k_times_the_probability() {
    close(share_at_a_quarter(ECT0, &json!({})), 0.25 * 0.25);
    close(share_at_a_quarter(ECT1, &json!({})), 2.0 * 0.25);
    close(share_at_a_quarter(ECT1, &json!({"coupling": 1})), 0.25);
    close(share_at_a_quarter(ECT1, &json!({"coupling": 0})), 0.0);
    close(share_at_a_quarter(ECT0, &json!({"coupling": 0})), 0.25 * 0.25);
}

#[test]
fn a_packet_that_cannot_be_marked_is_dropped_instead() {
    // Each drop makes the wait shorter, and with it the probability.
    let link = dualpi2(&json!({"alpha_hz": 0, "beta_hz": 12.5}));
    let mut traffic = held(21, 20_000, ECT0);
    for packet in traffic.iter_mut().skip(1_000).step_by(10) {
        packet.ecn = 0;
    }
    let decided = decide(3, &[link], &traffic);
    let dropped = count(&decided, "aqm") as f64;
    assert!(dropped > 5.0, "{dropped}");
    let lost_capable = decided.iter().zip(&traffic).filter(|(one, packet)| one.reason().is_some() && packet.ecn > 0);
    assert_eq!(lost_capable.count(), 0);
}

#[test]
fn a_packet_that_comes_marked_goes_with_l4s_traffic() {
    // Behind ten Classic packets that came at the same time.
    for (ecn, first) in [(ECT1, true), (CE, true), (ECT0, false), (0, false)] {
        let mut traffic = vec![Packet { ecn: ECT0, ..Packet::new(0, 1_000) }; 10];
        traffic.push(Packet { ecn, ..Packet::new(0, 1_000) });
        let decided = decide(1, &[dualpi2(&json!({}))], &traffic);
        let due: Vec<Option<u64>> = decided.iter().map(Decided::due_ns).collect();
        assert_eq!(due[10] == Some(2 * MS), first, "{ecn}: {due:?}");
    }
}

#[test]
fn the_step_is_for_l4s_packets_that_waited_longer() {
    let marks = |ecn: u8, parameters: &Value| -> Vec<usize> {
        let traffic = vec![Packet { ecn, ..Packet::new(0, 1_000) }; 5];
        let decided = decide(1, &[dualpi2(parameters)], &traffic);
        decided.iter().enumerate().filter(|(_, one)| one.is_marked()).map(|(number, _)| number).collect()
    };
    // They wait 0, 1, 2, 3 and 4 ms; one that met no other in its queue is spared.
    assert_eq!(marks(ECT1, &json!({})), [2, 3, 4]);
    assert_eq!(marks(ECT1, &json!({"step_ns": 3 * MS - 1})), [3, 4]);
    assert_eq!(marks(ECT1, &json!({"step_ns": MS - 1})), [2, 3, 4]);
    assert_eq!(marks(ECT1, &json!({"step_ns": MS - 1, "step_packets": 0})), [1, 2, 3, 4]);
    assert_eq!(marks(ECT1, &json!({"step_packets": 3})), [4]);
    assert_eq!(marks(ECT0, &json!({})), Vec::<usize>::new());
}

/// The share of the bytes of Classic packets in what leaves while both queues are never empty.
fn classic_share(parameters: &Value, sizes: [u32; 2]) -> f64 {
    let mut quiet = json!({"alpha_hz": 0, "beta_hz": 0});
    quiet.as_object_mut().expect("an object").extend(parameters.as_object().expect("an object").clone());
    let both = [(ECT1, sizes[0]), (ECT0, sizes[1])];
    let traffic: Vec<Packet> =
        (0..6_000).map(|number| both[number % 2]).map(|(ecn, size)| Packet { ecn, ..Packet::new(0, size) }).collect();
    let decided = decide(1, &[dualpi2(&quiet)], &traffic);
    let sent = |ecn: u8| -> f64 {
        let own = decided.iter().zip(&traffic).filter(|(_, packet)| packet.ecn == ecn);
        own.filter(|(one, _)| one.due_ns() < Some(1_000 * MS)).map(|(_, packet)| f64::from(packet.size_bytes)).sum()
    };
    sent(ECT0) / (sent(ECT0) + sent(ECT1))
}

#[test]
fn the_weighted_scheduler_keeps_the_classic_share_in_bytes() {
    for (protection, sizes) in [(0.1, [1_000, 1_000]), (0.1, [1_000, 200]), (0.5, [300, 1_500]), (0.0, [1_000, 1_000])]
    {
        let share = classic_share(&json!({"protection": protection}), sizes);
        assert!((share - protection).abs() < 0.01, "{share} instead of {protection}");
    }
}

#[test]
fn the_time_shifted_scheduler_takes_the_longer_wait() {
    let shifted = |shift_ms: u64| {
        let link =
            dualpi2(&json!({"scheduler": "time_shifted", "shift_ns": shift_ms * MS, "alpha_hz": 0, "beta_hz": 0}));
        // Twenty Classic packets at 0, and ten L4S packets at 5 ms.
        let mut traffic = vec![Packet { ecn: ECT0, ..Packet::new(0, 1_000) }; 20];
        traffic.extend(vec![Packet { ecn: ECT1, ..Packet::new(5 * MS, 1_000) }; 10]);
        decide(1, &[link], &traffic)[20].due_ns()
    };
    assert_eq!(shifted(50), Some(7 * MS), "a head start of 50 ms is longer than the others' wait");
    assert_eq!(shifted(2), Some(21 * MS), "all that came 2 ms before it go first");
}

#[test]
fn in_overload_it_drops_or_lets_the_queue_fill() {
    let overload = |what: &str| {
        let link = dualpi2(&json!({"overload": what, "queue_packets": 500, "alpha_hz": 10}));
        // Twice the link's rate.
        let traffic: Vec<Packet> =
            (0..20_000).map(|number| Packet { ecn: ECT1, ..Packet::new(number * MS / 2, 1_000) }).collect();
        decide(1, &[link], &traffic)
    };
    let drops = overload("drop");
    assert!(count(&drops, "queue") < 200 && count(&drops, "aqm") > 8_000, "{}", count(&drops, "aqm"));
    let overflow = overload("overflow");
    assert_eq!(count(&overflow, "aqm"), 0);
    assert!(count(&overflow, "queue") > 8_000);
    assert!(overflow[10_000..].iter().all(|one| one.is_marked() || one.reason().is_some()));
}

#[test]
fn what_is_out_of_bounds_is_refused() {
    for (parameters, expected) in [
        (json!({"target_ns": 0}), "key `target_ns` is 0: it must be a whole number from 1 to"),
        (json!({"update_ns": 1}), "key `update_ns` is 1: it must be a whole number from 100000 to"),
        (json!({"coupling": -1}), "key `coupling` is -1: it must be a number from 0 to 64"),
        (json!({"protection": 1.5}), "key `protection` is 1.5: it must be a number from 0 to 1"),
        (json!({"scheduler": "wrr"}), "it must be one of weighted, time_shifted"),
        (json!({"overload": "never"}), "it must be one of drop, overflow"),
        (json!({"ecn": true}), "unknown key `ecn`"),
    ] {
        let Err(message) = try_direction(1, &[dualpi2(&parameters)]) else { panic!("{parameters} is taken") };
        assert!(message.contains(expected), "{message}");
    }
}
