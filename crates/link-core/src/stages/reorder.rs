//! Reordering by a number of places, as parallel paths or retransmitting link layers do it.

use std::collections::VecDeque;

use super::delay::MAX_DELAY_NS;
use crate::parameters::{Bounds, ParameterSpec, Varies};
use crate::size_condition::{ABOVE_BYTES, SizeCondition};
use crate::stage::{Built, Exit, Holder, Recipe, StageSpec, Transit, unconstrained};
use crate::stream::{Stream, unit};
use crate::varying::Varying;

pub(super) const SPEC: StageSpec = StageSpec {
    kind: "reorder",
    law: "a packet above the size that is chosen with the given probability waits until depth_packets later ones have passed it, at most wait_ns; the others pass at once",
    parameters: &[
        ParameterSpec::new("probability", "1", Bounds::Number(0.0, 1.0), "share of packets that are chosen")
            .varying(Varies::WithTime),
        ParameterSpec::new(
            "depth_packets",
            "packet",
            Bounds::Integer(1, u32::MAX as u64),
            "how many later packets pass a chosen one; those that wait themselves do not count",
        ),
        ParameterSpec::new(
            "wait_ns",
            "ns",
            Bounds::Integer(0, MAX_DELAY_NS),
            "longest that a chosen one waits for them",
        ),
        ABOVE_BYTES,
    ],
    drop_reasons: &[],
    check: unconstrained,
    bottleneck: false,
    build,
};

struct Waiting {
    packet: Transit,
    until_passed: u64,
    until_ns: u64,
}

struct Reorder {
    probability: Varying,
    concerned: SizeCondition,
    depth: u64,
    wait_ns: u64,
    /// How many packets have passed at once. Whatever passes a waiting packet passes all that wait, so they leave in
    /// the order in which they came.
    passed: u64,
    waiting: VecDeque<Waiting>,
    stream: Stream,
}

fn build(recipe: &Recipe<'_>) -> Built {
    Built::Holding(Box::new(Reorder {
        probability: recipe.varying("probability"),
        concerned: SizeCondition::of(recipe.values),
        depth: recipe.values.integer("depth_packets"),
        wait_ns: recipe.values.integer("wait_ns"),
        passed: 0,
        waiting: VecDeque::new(),
        stream: recipe.stream(),
    }))
}

impl Reorder {
    fn release(&mut self, now_ns: u64, exits: &mut Vec<Exit>) {
        while let Some(first) = self.waiting.front() {
            if first.until_ns > now_ns && first.until_passed > self.passed {
                break;
            }
            exits.extend(self.waiting.pop_front().map(|first| leaving(first.packet, now_ns)));
        }
    }
}

impl Holder for Reorder {
    fn draw(&mut self, _at_ns: u64) -> u64 {
        self.stream.bits()
    }

    fn enter(&mut self, packet: Transit, draw: u64, exits: &mut Vec<Exit>) {
        let now_ns = packet.at_ns;
        if self.concerned.holds(&packet) && unit(draw) < self.probability.at(now_ns) {
            let (until_passed, until_ns) = (self.passed + self.depth, now_ns + self.wait_ns);
            self.waiting.push_back(Waiting { packet, until_passed, until_ns });
        } else {
            self.passed += 1;
            exits.push(leaving(packet, now_ns));
        }
        self.release(now_ns, exits);
    }

    fn next_ns(&self) -> Option<u64> {
        self.waiting.front().map(|first| first.until_ns)
    }

    fn serve(&mut self, now_ns: u64, exits: &mut Vec<Exit>) {
        self.release(now_ns, exits);
    }
}

fn leaving(mut packet: Transit, now_ns: u64) -> Exit {
    (packet.at_ns, packet.floor_ns) = (now_ns, now_ns);
    Exit { packet, dropped: None }
}
