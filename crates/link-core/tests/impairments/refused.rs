//! Configurations that are refused, and the error of each.

use longlook_link_core::Config;
use serde_json::{Value, json};

use crate::common::{configuration, stage};

fn refusal(up: &[Value], down: &[Value]) -> String {
    Config::from_json(&configuration(1, up, down)).err().map(|error| error.to_string()).unwrap_or_default()
}

#[track_caller]
fn assert_refused(kind: &str, parameters: &Value, expected: &str) {
    let message = refusal(&[stage(kind, parameters)], &[]);
    assert!(message.starts_with(&format!("up, stage 0 ({kind}): ")), "{parameters}: {message:?}");
    assert!(message.contains(expected), "{parameters} gives {message:?}, not {expected:?}");
}

#[test]
fn losses() {
    let channel = |to_bad: Value, to_good: Value| json!({"good_to_bad": to_bad, "bad_to_good": to_good});
    assert_refused(
        "gilbert_elliott",
        &channel(json!(0.1), json!(0)),
        "key `bad_to_good` is 0: the channel would never",
    );
    assert_refused(
        "gilbert_elliott",
        &channel(json!(1.1), json!(0.5)),
        "key `good_to_bad` is 1.1: it must be a number",
    );
    assert_refused("gilbert_elliott", &channel(json!("1%"), json!(0.5)), "key `good_to_bad` is \"1%\"");
    let varying = json!({"steps": [[0, 0.1]]});
    assert_refused("gilbert_elliott", &channel(varying, json!(0.5)), "key `good_to_bad` is {\"steps\"");
    assert_refused("gilbert_elliott", &json!({"good_to_bad": 0.1}), "key `bad_to_good` is missing");
    assert_refused("burst_loss", &json!({"probability": 0.1, "packets": 0}), "key `packets` is 0: it must be a whole");
    assert_refused("burst_loss", &json!({"probability": 0.1}), "key `packets` is missing");
    for indexes in [json!([]), json!([3, 3]), json!([4, 3]), json!([-1]), json!([1.5]), json!(7), json!(["7"])] {
        assert_refused("loss_index", &json!({"indexes": indexes}), "a list of whole numbers, strictly increasing");
    }
    for pattern in [json!(""), json!("012"), json!("0 1"), json!(101), json!([0, 1])] {
        assert_refused("loss_trace", &json!({"pattern": pattern}), "it must be a text of the digits 0 and 1");
    }
    let long = "01".repeat(500_000) + "x";
    let message = refusal(&[stage("loss_trace", &json!({"pattern": long}))], &[]);
    assert!(message.len() < 300, "a message of {} bytes", message.len());
}

#[test]
fn changes_of_packets() {
    assert_refused(
        "corrupt",
        &json!({"probability": -0.1}),
        "key `probability` is -0.1: it must be a number from 0 to 1",
    );
    assert_refused("duplicate", &json!({"probability": 2}), "key `probability` is 2: it must be a number from 0 to 1");
    let nine = vec![stage("duplicate", &json!({"probability": 0.1})); 9];
    assert_eq!(
        refusal(&nine, &[]),
        "up, stage 8 (duplicate): more than 8 of them in one direction: each may double its packets"
    );
    assert_eq!(refusal(&nine[..8], &nine[..8]), "");
}

#[test]
fn middleboxes() {
    for kind in ["block", "cutoff", "police", "size_filter"] {
        let given =
            json!({"protocol": "quic", "packets": 1, "rate_bps": 1_000, "burst_bytes": 1_500, "minimum_bytes": 1});
        let spec = longlook_link_core::stages::ALL.iter().find(|spec| spec.kind == kind).expect("there");
        let own: serde_json::Map<String, Value> =
            spec.parameters.iter().map(|one| (one.name.to_owned(), given[one.name].clone())).collect();
        assert_refused(kind, &json!(own), "key `protocol` is \"quic\": it must be one of udp, tcp, icmp, any");
    }
    let police = |rate: Value, burst: u64| json!({"protocol": "udp", "rate_bps": rate, "burst_bytes": burst});
    assert_refused("police", &police(json!(0), 1_500), "key `rate_bps` is 0: it must be a whole number from 1000");
    assert_refused(
        "police",
        &police(json!(1_000), 1_499),
        "key `burst_bytes` is 1499: it must be a whole number from 1500",
    );
    assert_refused("police", &police(json!({"steps": [[0, 0]]}), 1_500), "nothing would ever leave again");
    assert_refused(
        "cutoff",
        &json!({"protocol": "udp", "packets": 0}),
        "key `packets` is 0: it must be a whole number from 1",
    );
    assert_refused(
        "mtu",
        &json!({"mtu_bytes": 67, "icmp": true}),
        "key `mtu_bytes` is 67: it must be a whole number from 68",
    );
    assert_refused("mtu", &json!({"mtu_bytes": 1_280}), "key `icmp` is missing: it must be true or false");
    assert_refused("size_filter", &json!({"protocol": "udp", "minimum_bytes": 0}), "key `minimum_bytes` is 0");
}

#[test]
fn a_nat() {
    let nat = stage("nat", &json!({"rebind_ns": 1_000_000_000}));
    assert_eq!(
        refusal(&[], std::slice::from_ref(&nat)),
        "down, stage 0 (nat): a NAT stands at the client: put it into `up`; it acts on both directions"
    );
    assert!(refusal(&[nat.clone(), nat.clone()], &[]).starts_with("up, stage 1 (nat): a second `nat`"));
    assert_refused(
        "nat",
        &json!({"rebind_ns": 0, "repeat_ns": 1}),
        "key `repeat_ns` is 1: it must be at least 1000000, or 0",
    );
    assert_refused("nat", &json!({"rebind_ns": -5}), "key `rebind_ns` is -5: it must be a whole number");
    assert_refused(
        "nat",
        &json!({"rebind_ns": 1_000_000_000_000_000_u64}),
        "key `rebind_ns` is 1000000000000000: it must be",
    );
    let timeout = stage("nat_timeout", &json!({"timeout_ns": 30_000_000_000_u64}));
    assert!(refusal(&[], std::slice::from_ref(&timeout)).starts_with("down, stage 0 (nat_timeout): a NAT stands"));
    assert!(refusal(&[timeout.clone(), timeout.clone()], &[]).starts_with("up, stage 1 (nat_timeout): a second"));
    assert_refused("nat_timeout", &json!({"timeout_ns": 5}), "key `timeout_ns` is 5: it must be");
    assert_eq!(refusal(&[nat, timeout], &[]), "");
}
