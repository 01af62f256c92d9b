//! Links and traffic that are operated on.

use longlook_link_core::{Edits, PacketInfo, Transport};
use proptest::prelude::*;
use serde_json::{Value, json};

use crate::common::{Arrival, Decided, kinds, stage};

/// What a stage does to a packet depends on nothing but this packet's time, size, protocol and draws.
pub const SEPARATE: [&str; 11] = [
    "block",
    "burst_loss",
    "corrupt",
    "delay",
    "duplicate",
    "gilbert_elliott",
    "loss",
    "loss_index",
    "loss_trace",
    "mtu",
    "size_filter",
];

pub const HOLDING: [&str; 4] = ["codel", "dualpi2", "fq_codel", "reorder"];

/// No packet leaves a trace in these.
pub const FORGETTING: [&str; 8] =
    ["block", "burst_loss", "gilbert_elliott", "loss", "loss_index", "loss_trace", "mtu", "size_filter"];

/// A packet that these drop leaves no trace in them, and one that passes does.
pub const REMEMBERING_WHAT_PASSES: [&str; 3] = ["cutoff", "police", "rate"];

pub fn kinds_but(left_out: &[&str]) -> Vec<&'static str> {
    kinds::all().filter(|kind| *kind != "surgery" && !left_out.contains(kind)).collect()
}

/// Active stages of some of these kinds in any order. A delay that varies is no obstacle: its law is one of time.
pub fn stages_of(names: &[&'static str]) -> impl Strategy<Value = Vec<Value>> + use<> {
    let most = names.len().min(5);
    prop::sample::subsequence(names.to_vec(), 0..=most)
        .prop_shuffle()
        .prop_map(|kinds| kinds.into_iter().map(kinds::active).collect())
}

pub fn traffic() -> impl Strategy<Value = Vec<Arrival>> {
    let gap = prop_oneof![3 => Just(0_u64), 5 => 1..2_000_000_u64, 1 => 0..20_000_000_u64];
    let transport = prop_oneof![4 => Just(Transport::Udp), 1 => Just(Transport::Tcp)];
    let one = (gap, 20..=1_500_u32, transport, 0..3_u64, 0..3_u8);
    prop::collection::vec(one, 20..150).prop_map(|packets| {
        let mut at_ns = 1_000;
        let arrival = |(gap_ns, size_bytes, transport, flow, ecn)| {
            at_ns += gap_ns;
            Arrival { at_ns, info: PacketInfo { size_bytes, transport, flow, ecn } }
        };
        packets.into_iter().map(arrival).collect()
    })
}

pub fn surgery(parameters: &Value) -> Value {
    stage("surgery", parameters)
}

pub fn forgive(number: u64) -> Value {
    surgery(&json!({"forgive": [[number, number]]}))
}

pub fn drop_one(number: u64) -> Value {
    surgery(&json!({"drop": [[number, number]]}))
}

/// The stages with one more at that place.
pub fn with(stages: &[Value], place: usize, added: Value) -> Vec<Value> {
    let (before, behind) = stages.split_at(place.min(stages.len()));
    [before, &[added], behind].concat()
}

/// All that is decided about a packet, with nothing about the place of stages, which one more stage moves.
#[derive(Debug, Clone, PartialEq)]
pub struct Whole {
    pub number: u64,
    pub copy: u16,
    pub due_ns: Option<u64>,
    pub reason: Option<&'static str>,
    pub queue: (u64, u32, u64),
    pub edits: Edits,
}

pub fn whole(one: &Decided) -> Whole {
    let fate = &one.fate;
    Whole {
        number: one.number,
        copy: one.copy,
        due_ns: one.due_ns(),
        reason: one.reason(),
        queue: (fate.queue_bytes, fate.queue_packets, fate.queued_ns),
        edits: fate.edits,
    }
}

pub fn wholes(fates: &[Decided]) -> Vec<Whole> {
    fates.iter().map(whole).collect()
}

/// The fates of all packets but one, and of that one.
pub fn apart(fates: &[Decided], number: u64) -> (Vec<Whole>, Vec<Whole>) {
    wholes(fates).into_iter().partition(|one| one.number != number)
}
