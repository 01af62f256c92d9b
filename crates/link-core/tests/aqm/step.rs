use serde_json::{Value, json};

use crate::common::{Decided, Packet, decide, stage, try_direction};

fn step(parameters: &Value) -> Value {
    let mut all = json!({"rate_bps": 8_000_000});
    all.as_object_mut().expect("an object").extend(parameters.as_object().expect("an object").clone());
    stage("step", &all)
}

/// The numbers of the packets that are marked of six that come at once, a millisecond each.
fn marked(ecn: u8, parameters: &Value) -> Vec<usize> {
    let traffic = vec![Packet { ecn, ..Packet::new(0, 1_000) }; 6];
    let decided = decide(1, &[step(parameters)], &traffic);
    assert!(decided.iter().all(|one| one.due_ns().is_some()));
    decided.iter().enumerate().filter(|(_, one)| one.is_marked()).map(|(number, _)| number).collect()
}

#[test]
fn what_meets_more_than_the_threshold_is_marked() {
    for ecn in [1, 2] {
        assert_eq!(marked(ecn, &json!({"threshold_packets": 3})), [4, 5]);
        assert_eq!(marked(ecn, &json!({"threshold_bytes": 3_000})), [4, 5]);
        assert_eq!(marked(ecn, &json!({"threshold_bytes": 2_999})), [3, 4, 5]);
        assert_eq!(marked(ecn, &json!({"threshold_ns": 3_000_000})), [4, 5]);
        assert_eq!(marked(ecn, &json!({"threshold_ns": 2_999_999})), [3, 4, 5]);
    }
    for ecn in [0, 3] {
        assert_eq!(marked(ecn, &json!({"threshold_packets": 1})), Vec::<usize>::new());
    }
}

#[test]
fn a_full_queue_drops_what_is_capable_too() {
    let traffic = vec![Packet { ecn: 2, ..Packet::new(0, 1_000) }; 6];
    let decided = decide(1, &[step(&json!({"threshold_packets": 1, "queue_packets": 4}))], &traffic);
    let reasons: Vec<_> = decided.iter().map(Decided::reason).collect();
    assert_eq!(reasons, [None, None, None, None, Some("queue"), Some("queue")]);
}

#[test]
fn one_threshold_is_needed_and_no_more() {
    for (parameters, given) in [(json!({}), 0), (json!({"threshold_ns": 1, "threshold_packets": 1}), 2)] {
        let Err(message) = try_direction(1, &[step(&parameters)]) else { panic!("{parameters} is taken") };
        assert!(
            message.contains(&format!("{given} thresholds are above 0: it must be one of `threshold_ns`")),
            "{message}"
        );
    }
}
