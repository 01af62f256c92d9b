//! What the tests of whole directions share: configurations, traffic, and all that is decided about it.
#![allow(dead_code, reason = "each test is a program of its own and uses a part")]

pub mod kinds;

use longlook_link_core::{Config, Direction, DirectionName, Event, Fate, PacketInfo, Transport, Verdict};
use serde_json::{Value, json};

/// One packet of a test's traffic.
#[derive(Debug, Clone, Copy)]
pub struct Arrival {
    pub at_ns: u64,
    pub info: PacketInfo,
}

/// The fate of a packet or of a copy.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Decided {
    pub number: u64,
    pub copy: u16,
    pub fate: Fate,
}

impl Decided {
    pub fn reason(&self) -> Option<&'static str> {
        match self.fate.verdict {
            Verdict::Deliver { .. } => None,
            Verdict::Drop { reason, .. } => Some(reason),
        }
    }

    pub fn is_lost(&self) -> bool {
        self.reason().is_some()
    }

    pub fn due_ns(&self) -> Option<u64> {
        match self.fate.verdict {
            Verdict::Deliver { due_ns } => Some(due_ns),
            Verdict::Drop { .. } => None,
        }
    }
}

pub fn stage(kind: &str, parameters: &Value) -> Value {
    json!({"kind": kind, "parameters": parameters})
}

pub fn configuration(seed: u64, up: &[Value], down: &[Value]) -> String {
    json!({"version": 2, "seed": seed, "linger_ns": 0, "up": up, "down": down}).to_string()
}

pub fn upward(seed: u64, stages: &[Value]) -> Direction {
    let config = Config::from_json(&configuration(seed, stages, &[]));
    config.expect("the stages are valid").direction(DirectionName::Up)
}

/// Takes in all of the traffic, lets the link run out, and gives the fates in the order of (number, copy).
///
/// # Panics
/// If a packet or a copy has no fate in the end, or one too many.
pub fn fates(direction: &mut Direction, traffic: &[Arrival]) -> Vec<Decided> {
    let mut events = Vec::new();
    for arrival in traffic {
        direction.arrive(arrival.at_ns, &arrival.info, &mut events);
    }
    while let Some(next_ns) = direction.next_event_ns() {
        direction.advance(next_ns, &mut events);
    }
    let mut missing = vec![1_u32; traffic.len()];
    let mut decided = Vec::with_capacity(traffic.len());
    for event in events {
        match event {
            Event::Copied { number } => missing[number as usize] += 1,
            Event::Decided { number, copy, fate } => {
                let left = missing[number as usize].checked_sub(1);
                missing[number as usize] = left.expect("a copy is announced before its fate");
                decided.push(Decided { number, copy, fate });
            }
        }
    }
    assert!(missing.iter().all(|left| *left == 0), "a packet or a copy has got lost without a fate");
    decided.sort_by_key(|one| (one.number, one.copy));
    decided
}

/// All fates of stages before which nothing has arrived.
pub fn fates_of(seed: u64, stages: &[Value], traffic: &[Arrival]) -> Vec<Decided> {
    fates(&mut upward(seed, stages), traffic)
}

/// Equal packets of one UDP flow, a millisecond apart.
pub fn steady(count: usize) -> Vec<Arrival> {
    let info = PacketInfo { size_bytes: 1_200, transport: Transport::Udp, flow: 1, ecn: 0 };
    (0..count as u64).map(|number| Arrival { at_ns: number * 1_000_000, info }).collect()
}

/// Whether each packet was lost; without copies.
pub fn losses(seed: u64, stages: &[Value], count: usize) -> Vec<bool> {
    fates_of(seed, stages, &steady(count)).iter().map(Decided::is_lost).collect()
}
