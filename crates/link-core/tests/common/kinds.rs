//! Parameters for every kind of stage. A new kind needs a line in each table, or the tests over all kinds fail.

use longlook_link_core::stages;
use serde_json::{Value, json};

use super::stage;

/// The names of all kinds.
pub fn all() -> impl Iterator<Item = &'static str> {
    stages::ALL.iter().map(|spec| spec.kind)
}

/// The names of the kinds of which a direction may have several.
pub fn repeatable() -> impl Iterator<Item = &'static str> {
    all().filter(|kind| !["nat", "nat_timeout", "surgery"].contains(kind))
}

/// A stage of that kind that changes nothing about ordinary packets: neither fate nor time.
pub fn idle(kind: &str) -> Value {
    // A bucket that never gets empty lets a bottleneck's packets through in no time.
    let bottleneck = |more: Value| {
        let mut parameters = json!({"rate_bps": 1_000_000_000_000_u64, "burst_bytes": u32::MAX});
        for (key, value) in more.as_object().expect("an object") {
            parameters[key] = value.clone();
        }
        parameters
    };
    let parameters = match kind {
        "access" => json!({"max_ns": 0}),
        "block" => json!({"protocol": "icmp"}),
        "burst_loss" => json!({"probability": 0, "packets": 3}),
        "codel" | "dualpi2" | "fq_codel" | "rate" => bottleneck(json!({})),
        "corrupt" | "duplicate" | "loss" => json!({"probability": 0}),
        "cutoff" => json!({"protocol": "any", "packets": u32::MAX}),
        "delay" => json!({"delay_ns": 0}),
        "ecn_remark" => json!({"protocol": "icmp", "rule": "bleach"}),
        "gilbert_elliott" => json!({"good_to_bad": 0, "bad_to_good": 1}),
        "jitter" => json!({"jitter_ns": 0, "reorder": true}),
        "loss_index" => json!({"indexes": [1_u64 << 40]}),
        "loss_trace" => json!({"pattern": "00"}),
        "mtu" => json!({"mtu_bytes": 65_535, "icmp": true}),
        "nat" => json!({"rebind_ns": 3_600_000_000_000_u64}),
        "nat_timeout" => json!({"timeout_ns": 3_600_000_000_000_u64}),
        "police" => json!({"protocol": "any", "rate_bps": 1_000_000_000_000_u64, "burst_bytes": u32::MAX}),
        "red" => bottleneck(
            json!({"queue_bytes": u32::MAX, "minimum_bytes": 1_000_000_000, "maximum_bytes": 3_000_000_000_u64,
            "probability": 0.1, "weight": 0.002}),
        ),
        "reorder" => json!({"probability": 0, "depth_packets": 2, "wait_ns": 1_000_000}),
        "size_filter" => json!({"protocol": "any", "minimum_bytes": 65_535}),
        "step" => bottleneck(json!({"threshold_packets": 1_000_000})),
        "surgery" => json!({"forgive": [[1_u64 << 40, 1_u64 << 41]]}),
        _ => panic!("`{kind}` has no idle parameters here"),
    };
    stage(kind, &parameters)
}

/// A stage of that kind that is felt.
pub fn active(kind: &str) -> Value {
    let parameters = match kind {
        "access" => json!({"max_ns": 3_000_000}),
        "block" => json!({"protocol": "tcp"}),
        "burst_loss" => json!({"probability": 0.05, "packets": 3}),
        "codel" => {
            json!({"rate_bps": 9_000_000, "queue_bytes": 60_000, "target_ns": 1_000_000, "interval_ns": 20_000_000})
        }
        "corrupt" | "duplicate" | "loss" => json!({"probability": 0.3}),
        "cutoff" => json!({"protocol": "udp", "packets": 40}),
        "delay" => {
            json!({"delay_ns": {"uniform": {"minimum": 1_000_000, "maximum": 9_000_000, "every_ns": 5_000_000}}})
        }
        "dualpi2" => {
            json!({"rate_bps": 9_000_000, "queue_bytes": 60_000, "target_ns": 1_000_000, "beta_hz": 20})
        }
        "ecn_remark" => json!({"protocol": "any", "rule": "all_ce"}),
        "fq_codel" => {
            json!({"rate_bps": 9_000_000, "queue_packets": 50, "target_ns": 1_000_000, "interval_ns": 20_000_000})
        }
        "gilbert_elliott" => json!({"good_to_bad": 0.1, "bad_to_good": 0.3, "loss_good": 0.01, "loss_bad": 0.7}),
        "jitter" => json!({"jitter_ns": 4_000_000, "reorder": true, "law": "normal", "correlation": 0.5}),
        "loss_index" => json!({"indexes": [0, 7, 8, 100]}),
        "loss_trace" => json!({"pattern": "0001000011"}),
        "mtu" => json!({"mtu_bytes": 1_300, "icmp": true}),
        "nat" => json!({"rebind_ns": 20_000_000, "repeat_ns": 30_000_000}),
        "nat_timeout" => json!({"timeout_ns": 20_000_000}),
        "police" => json!({"protocol": "udp", "rate_bps": 5_000_000, "burst_bytes": 15_000}),
        "rate" => json!({"rate_bps": {"walk": {"start": 9_000_000, "step": 2_000_000, "minimum": 4_000_000,
            "maximum": 12_000_000, "every_ns": 10_000_000}}, "queue_bytes": 30_000}),
        "red" => json!({"rate_bps": 9_000_000, "queue_bytes": 60_000, "minimum_bytes": 5_000, "maximum_bytes": 15_000,
            "probability": 0.3, "weight": 0.02}),
        "reorder" => json!({"probability": 0.2, "depth_packets": 3, "wait_ns": 10_000_000}),
        "size_filter" => json!({"protocol": "udp", "minimum_bytes": 1_400}),
        "step" => json!({"rate_bps": 9_000_000, "queue_bytes": 30_000, "threshold_ns": 1_000_000}),
        "surgery" => json!({"drop": [[3, 3], [20, 24]], "hold": [[40, 41, 7_000_000]]}),
        _ => panic!("`{kind}` has no active parameters here"),
    };
    stage(kind, &parameters)
}
