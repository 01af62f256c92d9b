//! Links and traffic that the properties are checked with.

use longlook_link_core::{Config, Direction, DirectionName, Event, Fate, PacketInfo, Verdict};
use proptest::prelude::*;
use serde_json::{Value, json};

pub const NS_PER_S: u128 = 1_000_000_000;

#[derive(Debug, Clone, Copy)]
pub struct Packet {
    pub at_ns: u64,
    pub size_bytes: u32,
}

pub fn direction_of(seed: u64, stages: &[Value]) -> Direction {
    let config = json!({"version": 2, "seed": seed, "linger_ns": 0, "up": stages, "down": []});
    Config::from_json(&config.to_string()).expect("the stages are valid").direction(DirectionName::Up)
}

/// The fate of a packet at a link that decides about each at once.
pub fn arrive(direction: &mut Direction, packet: &Packet) -> Fate {
    let mut events = Vec::new();
    direction.arrive(packet.at_ns, &PacketInfo::of_size(packet.size_bytes), &mut events);
    let [Event::Decided { fate, copy: 0, .. }] = events[..] else { panic!("not one fate: {events:?}") };
    fate
}

/// The fates of all packets at any link that makes no copies, in their order.
pub fn fates(seed: u64, stages: &[Value], traffic: &[Packet]) -> Vec<Fate> {
    let mut direction = direction_of(seed, stages);
    let mut events = Vec::new();
    for packet in traffic {
        direction.arrive(packet.at_ns, &PacketInfo::of_size(packet.size_bytes), &mut events);
    }
    while let Some(next_ns) = direction.next_event_ns() {
        direction.advance(next_ns, &mut events);
    }
    let mut fates = vec![None; traffic.len()];
    for event in events {
        let Event::Decided { number, fate, .. } = event else { panic!("nothing copies: {event:?}") };
        assert_eq!(fates[number as usize].replace(fate), None, "decided twice");
    }
    fates.into_iter().map(|fate| fate.expect("decided once")).collect()
}

pub fn due_ns(fate: &Fate) -> Option<u64> {
    match fate.verdict {
        Verdict::Deliver { due_ns } => Some(due_ns),
        Verdict::Drop { .. } => None,
    }
}

pub fn lost_at(fate: &Fate, index: usize) -> bool {
    matches!(fate.verdict, Verdict::Drop { stage, .. } if stage == index)
}

pub fn loss(probability: f64) -> Value {
    json!({"kind": "loss", "parameters": {"probability": probability}})
}

pub fn rate(rate_bps: u64, queue_bytes: u64) -> Value {
    json!({"kind": "rate", "parameters": {"rate_bps": rate_bps, "queue_bytes": queue_bytes}})
}

pub fn delay(delay_ns: u64) -> Value {
    json!({"kind": "delay", "parameters": {"delay_ns": delay_ns}})
}

pub fn jitter(jitter_ns: u64, reorder: bool) -> Value {
    json!({"kind": "jitter", "parameters": {"jitter_ns": jitter_ns, "reorder": reorder}})
}

pub fn access(max_ns: u64) -> Value {
    json!({"kind": "access", "parameters": {"max_ns": max_ns}})
}

/// Bursts and pauses: gaps from nothing to 20 ms.
pub fn traffic() -> impl Strategy<Value = Vec<Packet>> {
    let gap = prop_oneof![3 => Just(0_u64), 3 => 1..2_000_000_u64, 1 => 0..20_000_000_u64];
    prop::collection::vec((gap, 20..=1500_u32), 1..300).prop_map(|steps| {
        let mut at_ns = 1_000;
        let mut packet = |(gap_ns, size_bytes)| {
            at_ns += gap_ns;
            Packet { at_ns, size_bytes }
        };
        steps.into_iter().map(&mut packet).collect()
    })
}

pub fn stage() -> impl Strategy<Value = Value> {
    prop_oneof![
        (0.0..=1.0).prop_map(loss),
        (1_000_000..1_000_000_000_u64, 1_500..60_000_u64).prop_map(|(bps, bytes)| rate(bps, bytes)),
        (0..50_000_000_u64).prop_map(delay),
        (0..20_000_000_u64).prop_map(|jitter_ns| jitter(jitter_ns, false)),
        (0..20_000_000_u64).prop_map(access),
    ]
}

/// Any valid link: what reorders comes last, where nothing that needs order can follow it.
pub fn stages() -> impl Strategy<Value = Vec<Value>> {
    (prop::collection::vec(stage(), 0..6), prop::option::of((0..20_000_000_u64).prop_map(|ns| jitter(ns, true))))
        .prop_map(|(mut stages, last)| {
            stages.extend(last);
            stages
        })
}
