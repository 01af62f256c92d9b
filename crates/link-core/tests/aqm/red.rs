use serde_json::{Value, json};

use crate::common::{Decided, ECT0, MS, Packet, Run, count, decide, stage, try_direction};

/// One byte each microsecond.
const RATE_BPS: u64 = 8_000_000;

fn red(parameters: &Value) -> Value {
    let mut all = json!({"rate_bps": RATE_BPS, "queue_bytes": 1_000_000});
    all.as_object_mut().expect("an object").extend(parameters.as_object().expect("an object").clone());
    stage("red", &all)
}

/// The numbers of packets from one signal to the next, at a queue that is held at `queue_packets` packets of 1000 bytes:
/// one comes whenever one has left, and one more for each that is dropped.
fn gaps(parameters: &Value, queue_packets: u64, ecn: u8, arrivals: u64) -> Vec<u64> {
    let mut run = Run::new(7, &[red(parameters)]);
    for _ in 0..queue_packets {
        run.arrive(&Packet { ecn: ECT0, ..Packet::new(0, 1_000) });
    }
    let before = run.decided.len();
    assert!(run.decided.iter().flatten().all(|one| one.due_ns().is_some()), "marks at most");
    let mut at_ns = MS;
    while run.decided.len() < before + arrivals as usize {
        let number = run.arrive(&Packet { at_ns, size_bytes: 1_000, flow: 0, ecn });
        let decided = run.decided[number].expect("decided at once");
        assert_eq!(u64::from(decided.fate.queue_packets), queue_packets - 1);
        if decided.due_ns().is_some() {
            at_ns += MS;
        }
    }
    let signalled = |one: &Decided| one.reason().is_some() || one.is_marked();
    let signals = run.decided[before..].iter().enumerate().filter(|(_, one)| signalled(&one.expect("decided at once")));
    let numbers: Vec<u64> = signals.map(|(number, _)| number as u64).collect();
    numbers.windows(2).map(|pair| pair[1] - pair[0]).collect()
}

#[test]
fn signals_come_with_the_probability_of_theory() {
    // The average is what a packet meets (weight 1): 20 packets of 10 to 30 make half of 0.2, so 1/10. The packets from
    // one signal to the next are then uniform in 1 to 10.
    let parameters = json!({
        "minimum_bytes": 20_000, "maximum_bytes": 40_000, "probability": 0.2, "weight": 1, "ecn": true,
    });
    for ecn in [0, ECT0] {
        let gaps = gaps(&parameters, 31, ecn, 60_000);
        let mut counts = [0_u32; 11];
        for gap in &gaps {
            counts[*gap as usize] += 1;
        }
        assert_eq!(counts[0], 0);
        let expected = gaps.len() as f64 / 10.0;
        let square: f64 = counts[1..].iter().map(|count| (f64::from(*count) - expected).powi(2) / expected).sum();
        // χ² with 9 degrees of freedom: 0.999 lie below 27.9.
        assert!(square < 27.9, "ecn {ecn}: {square}, {counts:?}");
        // Renewal theory: the share of signals is 1/5.5, and its count's variance arrivals·σ²/μ³, σ² = (10² − 1)/12.
        let deviation = (60_000.0 * 8.25 / 5.5_f64.powi(3)).sqrt();
        let off = (gaps.len() as f64 - 60_000.0 / 5.5).abs();
        assert!(off < 4.0 * deviation, "ecn {ecn}: {off} of {deviation}");
    }
}

#[test]
fn what_was_spared_does_not_count_once_the_average_was_elsewhere() {
    // A packet that meets 3000 bytes has a signal with probability 1/2, and surely if the one before it was spared.
    let parameters =
        json!({"minimum_bytes": 2_500, "maximum_bytes": 3_500, "probability": 1, "weight": 1, "ecn": true});
    let second = |between: &[u64], at_ns: u64| {
        let (mut spared, mut signals) = (0, 0);
        for seed in 0..400 {
            let mut run = Run::new(seed, &[red(&parameters)]);
            let mut arrive = |at_ns: u64| {
                let number = run.arrive(&Packet { ecn: ECT0, ..Packet::new(at_ns, 1_000) });
                run.decided[number].expect("decided at once")
            };
            let first = (0..4).map(|_| arrive(0)).last().expect("four");
            for at_ns in between {
                arrive(*at_ns);
            }
            let last = arrive(at_ns);
            assert_eq!((first.fate.queue_bytes, last.fate.queue_bytes), (3_000, 3_000));
            spared += u32::from(!first.is_marked());
            signals += u32::from(!first.is_marked() && last.is_marked());
        }
        (spared, signals)
    };
    let (spared, signals) = second(&[], MS);
    assert!((160..=240).contains(&spared) && signals == spared, "{signals} of {spared}");
    // Below the minimum, with 1000 and 2000 bytes; above the maximum, with 4000.
    for (between, at_ns) in [(vec![3 * MS, 3 * MS], 3 * MS), (vec![0], MS)] {
        let (spared, signals) = second(&between, at_ns);
        assert!((spared / 3..=spared * 2 / 3).contains(&signals), "{signals} of {spared}");
    }
}

#[test]
fn a_gentle_probability_goes_on_above_the_maximum() {
    // 30 packets are half-way from the maximum, 20, to twice that: (1 + 0.1)/2 = 0.55, so every second gap is 1.
    let parameters = |gentle: bool| {
        json!({
            "minimum_bytes": 19_000, "maximum_bytes": 20_000, "probability": 0.1, "weight": 0.01, "ecn": true, "gentle": gentle,
        })
    };
    let hold = |gentle: bool| {
        // By marks, the queue is held whatever the signal; the average comes to it.
        let traffic: Vec<Packet> = (0..31)
            .map(|_| Packet { ecn: ECT0, ..Packet::new(0, 1_000) })
            .chain((1..30_000).map(|number| Packet { ecn: ECT0, ..Packet::new(number * MS, 1_000) }))
            .collect();
        decide(3, &[red(&parameters(gentle))], &traffic)
    };
    let decided = hold(true);
    let late = &decided[5_000..];
    assert_eq!(count(late, "aqm"), 0);
    let share = late.iter().filter(|one| one.is_marked()).count() as f64 / late.len() as f64;
    // Gaps of 1 with 0.55 and of 2 with 0.45: 1/1.45 of the packets.
    assert!((share - 1.0 / 1.45).abs() < 0.01, "{share}");
    // Without it, above the maximum all are dropped, though they could be marked, until it is below.
    let decided = hold(false);
    assert!(count(&decided, "aqm") > 10);
}

#[test]
fn above_the_maximum_everything_is_dropped_and_below_the_minimum_nothing() {
    let parameters =
        json!({"minimum_bytes": 5_000, "maximum_bytes": 10_000, "probability": 0.5, "weight": 0.02, "ecn": true});
    let mut run = Run::new(1, &[red(&parameters)]);
    // The average, from the log's entry of each packet.
    let (mut average, mut busy_until_ns, mut seen) = (0.0_f64, 0_u64, [0_u32; 3]);
    let mut at_ns = 0;
    for number in 0..20_000_u64 {
        // Now above the rate, now below it, with pauses.
        at_ns += match number / 300 % 4 {
            0 => MS / 2,
            1 => MS + MS / 10,
            2 => MS / 4,
            _ => 3 * MS,
        };
        let index = run.arrive(&Packet { at_ns, size_bytes: 1_000, flow: 0, ecn: ECT0 });
        let decided = run.decided[index].expect("at once");
        let queue_bytes = decided.fate.queue_bytes as f64;
        if queue_bytes > 0.0 {
            average = 0.98 * average + 0.02 * queue_bytes;
        } else {
            average *= 0.98_f64.powf((at_ns - busy_until_ns) as f64 / 1_500_000.0);
        }
        let region = usize::from(average >= 5_000.0) + usize::from(average >= 10_000.0);
        seen[region] += 1;
        match region {
            0 => assert!(decided.due_ns().is_some() && !decided.is_marked(), "{number}: {average}"),
            1 => assert!(decided.due_ns().is_some(), "{number}: {average}"),
            _ => assert_eq!(decided.reason(), Some("aqm"), "{number}: {average}"),
        }
        busy_until_ns = decided.due_ns().unwrap_or(busy_until_ns);
    }
    assert!(seen.iter().all(|count| *count > 500), "{seen:?}");
}

#[test]
fn an_idle_link_forgets_its_average() {
    // Weight 1/2: after ten packets at once the average is near 9000 bytes; each idle 1500 bytes' time halves it.
    let parameters =
        json!({"minimum_bytes": 1_000, "maximum_bytes": 2_000, "probability": 0, "weight": 0.5, "gentle": false});
    let mut traffic = vec![Packet::new(0, 1_000); 3];
    // Met 0, 1000, 2000: the average is 0, 500, 1250. At 1 ms one of 1000 is left of two: 1625; and so on to 2 ms.
    let last = |idle_ns: u64| {
        let mut traffic = traffic.clone();
        traffic.push(Packet::new(3 * MS + idle_ns, 1_000));
        let mut run = Run::new(1, &[red(&parameters)]);
        for packet in &traffic {
            run.arrive(packet);
        }
        run.finish().last().expect("some").reason()
    };
    assert_eq!(last(0), None);
    // Filled until all are dropped: 0, 500, 1250, 2125 with four.
    traffic.push(Packet::new(0, 1_000));
    let decided = decide(1, &[red(&parameters)], &traffic);
    assert_eq!(decided[3].reason(), Some("aqm"));
    // Now the average is 2125 and the queue empty at 3 ms: 2000 it is after log2(2125/2000) of 1500 bytes' time.
    let enough_ns = ((2_125.0_f64 / 2_000.0).log2() * 1_500_000.0) as u64;
    let last = |idle_ns: u64| {
        let all = [traffic.clone(), vec![Packet::new(3 * MS + idle_ns, 1_000)]].concat();
        decide(1, &[red(&parameters)], &all)[4].reason()
    };
    assert_eq!(last(enough_ns - 10), Some("aqm"));
    assert_eq!(last(enough_ns + 10), None);
}

#[test]
fn more_is_dropped_with_what_ns_3_says_drops_more() {
    // RedQueueDiscTestCase of ns-3, tests 2 to 7, in bytes: 300 packets of 500 bytes at once, nothing leaves.
    let drops = |maximum: u64, weight: f64, probability: f64, gentle: bool| {
        let link = stage(
            "red",
            &json!({
                "rate_bps": 1_000, "queue_bytes": 300 * 500, "minimum_bytes": 70 * 500, "maximum_bytes": maximum * 500,
                "weight": weight, "probability": probability, "gentle": gentle,
            }),
        );
        let decided = decide(1, &[link], &[Packet::new(0, 500); 300]);
        decided.iter().filter(|one| one.reason().is_some()).count()
    };
    assert_eq!(drops(150, 0.002, 0.02, true), 0);
    let reference = drops(150, 0.02, 0.02, true);
    assert!(reference > 0);
    assert!(drops(100, 0.02, 0.02, true) > reference, "a lower maximum");
    assert!(drops(150, 0.02, 0.2, true) > reference, "a higher probability");
    assert!(drops(150, 0.02, 0.02, false) > reference, "not gentle");
}

#[test]
fn a_full_queue_has_its_own_reason() {
    let link = stage(
        "red",
        &json!({
            "rate_bps": 1_000, "queue_bytes": 10_000, "minimum_bytes": 9_000, "maximum_bytes": 10_000, "probability": 0.1,
            "weight": 0.001,
        }),
    );
    let decided = decide(1, &[link], &[Packet::new(0, 1_000); 15]);
    assert_eq!(count(&decided, "queue"), 5);
    assert_eq!(count(&decided, "aqm"), 0);
}

#[test]
fn contradictory_parameters_are_refused() {
    let refused = |minimum: u64, maximum: u64| {
        let parameters =
            json!({"minimum_bytes": minimum, "maximum_bytes": maximum, "probability": 0.1, "weight": 0.002});
        try_direction(1, &[red(&parameters)]).err()
    };
    let error = refused(5_000, 5_000).expect("refused");
    assert!(
        error.contains("up, stage 0 (red)") && error.contains("`minimum_bytes`") && error.contains("`maximum_bytes`")
    );
    let error = refused(5_000, 1_000_001).expect("refused");
    assert!(error.contains("`maximum_bytes`") && error.contains("`queue_bytes`"));
    assert_eq!(refused(5_000, 1_000_000), None);
}
