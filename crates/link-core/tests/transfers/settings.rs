//! The links of the table.

use serde_json::{Value, json};

const MBIT: u64 = 1_000_000;
const MS: u64 = 1_000_000;

pub struct Setting {
    pub name: &'static str,
    up: Vec<Value>,
    down: Vec<Value>,
}

impl Setting {
    pub fn configuration(&self) -> String {
        json!({"version": 2, "seed": 20_251, "linger_ns": 0, "up": self.up, "down": self.down}).to_string()
    }
}

fn stage(kind: &str, parameters: &Value) -> Value {
    json!({"kind": kind, "parameters": parameters})
}

fn delay() -> Value {
    stage("delay", &json!({"delay_ns": 18 * MS}))
}

fn rate(parameters: &Value) -> Value {
    stage("rate", parameters)
}

/// The usual bottleneck: 10 Mbit/s with a queue of one product of rate and round trip.
fn usual() -> Value {
    rate(&json!({"rate_bps": 10 * MBIT, "queue_bytes": 45_000}))
}

/// The usual link with stages in front of its bottleneck.
fn before(name: &'static str, stages: &[Value]) -> Setting {
    Setting { name, up: [stages, &[usual(), delay()]].concat(), down: vec![usual(), delay()] }
}

/// The usual link with stages behind its delay.
fn behind(name: &'static str, stages: &[Value]) -> Setting {
    Setting { name, up: [&[usual(), delay()], stages].concat(), down: vec![usual(), delay()] }
}

/// Another bottleneck in place of the usual one.
fn through(name: &'static str, bottleneck: Value) -> Setting {
    Setting { name, up: vec![bottleneck, delay()], down: vec![usual(), delay()] }
}

fn one(name: &'static str, kind: &str, parameters: &Value) -> Setting {
    before(name, &[stage(kind, parameters)])
}

fn jitter(name: &'static str, parameters: &Value) -> Setting {
    behind(name, &[stage("jitter", parameters)])
}

pub fn all() -> Vec<Setting> {
    [plain(), bottlenecks(), varying(), losses(), paths(), middleboxes()].into_iter().flatten().collect()
}

fn plain() -> Vec<Setting> {
    vec![
        Setting { name: "nothing", up: vec![], down: vec![] },
        Setting { name: "delay", up: vec![delay()], down: vec![delay()] },
        before("usual", &[]),
        one("access", "access", &json!({"max_ns": 1_200_000})),
        Setting {
            name: "slow acks",
            up: vec![usual(), delay()],
            down: vec![rate(&json!({"rate_bps": 64_000})), delay()],
        },
        Setting {
            name: "two bottlenecks",
            up: vec![rate(&json!({"rate_bps": 20 * MBIT, "queue_bytes": 20_000})), usual(), delay()],
            down: vec![delay()],
        },
    ]
}

fn bottlenecks() -> Vec<Setting> {
    let aqm = |more: &Value| {
        let mut parameters = json!({"rate_bps": 4 * MBIT, "queue_bytes": 200_000});
        parameters.as_object_mut().expect("an object").extend(more.as_object().expect("an object").clone());
        parameters
    };
    let red = |ecn: bool, gentle: bool| {
        aqm(&json!({"minimum_bytes": 10_000, "maximum_bytes": 30_000, "probability": 0.1, "weight": 0.02, "ecn": ecn,
            "gentle": gentle}))
    };
    vec![
        through("1 Mbit/s", rate(&json!({"rate_bps": MBIT, "queue_bytes": 45_000}))),
        through("100 Mbit/s", rate(&json!({"rate_bps": 100 * MBIT, "queue_bytes": 450_000}))),
        through("queue of 4500 bytes", rate(&json!({"rate_bps": 10 * MBIT, "queue_bytes": 4_500}))),
        through("queue of 10 packets", rate(&json!({"rate_bps": 10 * MBIT, "queue_packets": 10}))),
        through("queue without end", rate(&json!({"rate_bps": 2 * MBIT}))),
        through("burst", rate(&json!({"rate_bps": 2 * MBIT, "queue_bytes": 45_000, "burst_bytes": 60_000}))),
        through("drop-tail at 4 Mbit/s", rate(&aqm(&json!({})))),
        through("codel", stage("codel", &aqm(&json!({})))),
        through("codel, ecn", stage("codel", &aqm(&json!({"ecn": true})))),
        through("fq_codel", stage("fq_codel", &aqm(&json!({})))),
        through("fq_codel, ecn", stage("fq_codel", &aqm(&json!({"ecn": true})))),
        through("red", stage("red", &red(false, false))),
        through("red, ecn, gentle", stage("red", &red(true, true))),
    ]
}

fn varying() -> Vec<Setting> {
    let of = |rate_bps: &Value| rate(&json!({"rate_bps": rate_bps, "queue_bytes": 45_000}));
    let steps = json!({"steps": [[0, 10 * MBIT], [50 * MS, 0], [150 * MS, 2 * MBIT]], "repeat_ns": 300 * MS});
    let uniform = json!({"uniform": {"minimum": MBIT, "maximum": 19 * MBIT, "every_ns": 20 * MS}});
    let walk = json!({"walk": {"start": 10 * MBIT, "step": 3 * MBIT, "minimum": MBIT, "maximum": 15 * MBIT, "every_ns": 10 * MS}});
    let trace =
        json!({"opportunities": {"runs": [[MS, 1], [3 * MS, 2], [10 * MS, 1]], "bytes": 1_500, "repeat_ns": 10 * MS}});
    let longer = json!({"steps": [[0, 10 * MS], [100 * MS, 40 * MS], [200 * MS, 5 * MS]]});
    vec![
        through("rate in steps, outage", of(&steps)),
        through("rate drawn", of(&uniform)),
        through("rate as a walk", of(&walk)),
        through("rate as a trace", of(&trace)),
        Setting {
            name: "delay in steps",
            up: vec![usual(), stage("delay", &json!({"delay_ns": longer}))],
            down: vec![delay()],
        },
        one("loss in steps", "loss", &json!({"probability": {"steps": [[0, 0], [100 * MS, 0.2], [200 * MS, 0]]}})),
    ]
}

fn losses() -> Vec<Setting> {
    let channel = json!({"good_to_bad": 0.02, "bad_to_good": 0.4, "loss_good": 0.001, "loss_bad": 0.8});
    vec![
        one("loss 1 %", "loss", &json!({"probability": 0.01})),
        one("loss 10 %", "loss", &json!({"probability": 0.1})),
        Setting {
            name: "loss of acks 20 %",
            up: vec![usual(), delay()],
            down: vec![stage("loss", &json!({"probability": 0.2})), delay()],
        },
        one("gilbert_elliott", "gilbert_elliott", &channel),
        one("bursts", "burst_loss", &json!({"probability": 0.01, "packets": 4})),
        one("the first packet", "loss_index", &json!({"indexes": [0]})),
        one("the last packet", "loss_index", &json!({"indexes": [199]})),
        one("every tenth packet", "loss_trace", &json!({"pattern": "0000000001"})),
    ]
}

fn paths() -> Vec<Setting> {
    vec![
        jitter("jitter in order", &json!({"jitter_ns": 5 * MS, "reorder": false})),
        jitter("jitter", &json!({"jitter_ns": 5 * MS, "reorder": true})),
        jitter("jitter, normal", &json!({"jitter_ns": 5 * MS, "reorder": true, "law": "normal"})),
        jitter("jitter, pareto", &json!({"jitter_ns": 5 * MS, "reorder": true, "law": "pareto"})),
        jitter(
            "jitter, correlated",
            &json!({"jitter_ns": 5 * MS, "reorder": true, "law": "normal", "correlation": 0.9}),
        ),
        behind("reorder", &[stage("reorder", &json!({"probability": 0.05, "depth_packets": 4, "wait_ns": 50 * MS}))]),
        Setting {
            name: "jitter before a queue",
            up: vec![delay(), stage("jitter", &json!({"jitter_ns": 5 * MS, "reorder": true})), usual()],
            down: vec![delay()],
        },
        one("duplicate", "duplicate", &json!({"probability": 0.1})),
        one("corrupt", "corrupt", &json!({"probability": 0.03})),
    ]
}

fn middleboxes() -> Vec<Setting> {
    let all = [
        stage("nat", &json!({"rebind_ns": 100 * MS})),
        stage("police", &json!({"protocol": "udp", "rate_bps": 8 * MBIT, "burst_bytes": 30_000})),
        stage("gilbert_elliott", &json!({"good_to_bad": 0.01, "bad_to_good": 0.5})),
        stage("duplicate", &json!({"probability": 0.02})),
        stage("corrupt", &json!({"probability": 0.01})),
    ];
    vec![
        one("mtu with icmp", "mtu", &json!({"mtu_bytes": 1_400, "icmp": true})),
        one("mtu that is silent", "mtu", &json!({"mtu_bytes": 1_400, "icmp": false})),
        one("block udp", "block", &json!({"protocol": "udp"})),
        one("block tcp", "block", &json!({"protocol": "tcp"})),
        one("police", "police", &json!({"protocol": "udp", "rate_bps": 5 * MBIT, "burst_bytes": 15_000})),
        one("cutoff", "cutoff", &json!({"protocol": "udp", "packets": 100})),
        one("size_filter", "size_filter", &json!({"protocol": "udp", "minimum_bytes": 1_300})),
        one("nat", "nat", &json!({"rebind_ns": 100 * MS, "repeat_ns": 50 * MS})),
        before("much at once", &all),
    ]
}
