//! A direction driven by a list of packets.

use longlook_link_core::{Config, Direction, DirectionName, Edits, Event, Fate, PacketInfo, Verdict};
use proptest::prelude::*;
use serde_json::{Value, json};

pub const MS: u64 = 1_000_000;
pub const ECT0: u8 = 2;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Packet {
    pub at_ns: u64,
    pub size_bytes: u32,
    pub flow: u64,
    pub ecn: u8,
}

impl Packet {
    pub fn new(at_ns: u64, size_bytes: u32) -> Self {
        Self { at_ns, size_bytes, ..Self::default() }
    }

    pub fn info(&self) -> PacketInfo {
        PacketInfo { size_bytes: self.size_bytes, flow: self.flow, ecn: self.ecn, ..PacketInfo::default() }
    }
}

/// A fate and when it became known.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Decided {
    pub at_ns: u64,
    pub fate: Fate,
}

impl Decided {
    pub fn due_ns(&self) -> Option<u64> {
        match self.fate.verdict {
            Verdict::Deliver { due_ns } => Some(due_ns),
            Verdict::Drop { .. } => None,
        }
    }

    pub fn reason(&self) -> Option<&'static str> {
        match self.fate.verdict {
            Verdict::Deliver { .. } => None,
            Verdict::Drop { reason, .. } => Some(reason),
        }
    }

    pub fn is_marked(&self) -> bool {
        self.fate.edits == Edits { mark_ce: true, ..Edits::default() }
    }
}

pub fn stage(kind: &str, parameters: &Value) -> Value {
    json!({"kind": kind, "parameters": parameters})
}

pub fn try_direction(seed: u64, stages: &[Value]) -> Result<Direction, String> {
    let config = json!({"version": 2, "seed": seed, "linger_ns": 0, "up": stages, "down": []});
    let config = Config::from_json(&config.to_string()).map_err(|error| error.to_string())?;
    Ok(config.direction(DirectionName::Up))
}

pub fn direction(seed: u64, stages: &[Value]) -> Direction {
    try_direction(seed, stages).expect("the stages are valid")
}

/// A direction, the time, and what was decided of each packet so far.
pub struct Run {
    pub direction: Direction,
    pub decided: Vec<Option<Decided>>,
    pub events: Vec<Event>,
}

impl Run {
    pub fn new(seed: u64, stages: &[Value]) -> Self {
        Self { direction: direction(seed, stages), decided: Vec::new(), events: Vec::new() }
    }

    pub fn advance(&mut self, until_ns: u64) {
        while let Some(next_ns) = self.direction.next_event_ns().filter(|next_ns| *next_ns <= until_ns) {
            let from = self.events.len();
            self.direction.advance(next_ns, &mut self.events);
            self.note(from, next_ns);
        }
    }

    /// Gives the number of the packet.
    pub fn arrive(&mut self, packet: &Packet) -> usize {
        self.advance(packet.at_ns);
        let from = self.events.len();
        self.decided.push(None);
        self.direction.arrive(packet.at_ns, &packet.info(), &mut self.events);
        self.note(from, packet.at_ns);
        self.decided.len() - 1
    }

    fn note(&mut self, from: usize, at_ns: u64) {
        for event in &self.events[from..] {
            let Event::Decided { number, copy: 0, fate } = *event else { panic!("nothing copies: {event:?}") };
            let before = self.decided[number as usize].replace(Decided { at_ns, fate });
            assert_eq!(before, None, "decided twice");
        }
    }

    pub fn finish(mut self) -> Vec<Decided> {
        self.advance(u64::MAX);
        self.decided.into_iter().map(|decided| decided.expect("decided once")).collect()
    }
}

pub fn decide(seed: u64, stages: &[Value], traffic: &[Packet]) -> Vec<Decided> {
    let mut run = Run::new(seed, stages);
    for packet in traffic {
        run.arrive(packet);
    }
    run.finish()
}

pub fn count(decided: &[Decided], reason: &str) -> usize {
    decided.iter().filter(|one| one.reason() == Some(reason)).count()
}

/// Bursts and pauses of a few flows: gaps from nothing to 20 ms.
pub fn traffic() -> impl Strategy<Value = Vec<Packet>> {
    let gap = prop_oneof![4 => Just(0_u64), 4 => 1..2_000_000_u64, 1 => 0..20_000_000_u64];
    prop::collection::vec((gap, 20..=1500_u32, 0..5_u64, 0..=3_u8), 1..400).prop_map(|steps| {
        let mut at_ns = 1_000;
        let mut packet = |(gap_ns, size_bytes, flow, ecn)| {
            at_ns += gap_ns;
            Packet { at_ns, size_bytes, flow, ecn }
        };
        steps.into_iter().map(&mut packet).collect()
    })
}
