//! The machine that comes out: states with their visits and times, transitions with their probabilities.

use std::collections::HashMap;

use crate::coarsen::Coarsest;
use crate::graph::{Graph, INITIAL, Partition, TERMINAL};
use crate::invariants::{Invariant, Relation};
use crate::log::Log;

/// A state. Numbers 0 and 1 are the beginning and the end of every trace.
#[derive(Clone, Debug, PartialEq)]
pub struct State {
    /// The kind of its events; `None` for the beginning and the end.
    pub kind: Option<u16>,
    /// How often it was entered.
    pub visits: u64,
    /// For how long the program was in it, over all traces.
    pub time_ns: u64,
}

/// A transition that some trace took.
#[derive(Clone, Debug, PartialEq)]
pub struct Transition {
    /// State that was left.
    pub from: u32,
    /// State that was entered.
    pub to: u32,
    /// How often.
    pub count: u64,
    /// `count` as a share of all that leave `from`.
    pub probability: f64,
}

/// The time that one trace spent in one state.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stay {
    /// Index of the trace.
    pub trace: u32,
    /// State.
    pub state: u32,
    /// How often it was entered.
    pub visits: u64,
    /// For how long.
    pub time_ns: u64,
}

/// How often one trace took one transition.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Step {
    /// Index of the trace.
    pub trace: u32,
    /// Index of the transition.
    pub transition: u32,
    /// How often.
    pub count: u64,
}

/// A state machine with what it was inferred from.
#[derive(Clone, Debug, PartialEq)]
pub struct Machine {
    /// Names of kinds.
    pub kinds: Vec<String>,
    /// Names of traces.
    pub traces: Vec<String>,
    /// How many events.
    pub events: u64,
    /// By number.
    pub states: Vec<State>,
    /// In order of `from` and `to`.
    pub transitions: Vec<Transition>,
    /// The relations that were mined.
    pub relations: Vec<Relation>,
    /// All that was mined, and is kept.
    pub invariants: Vec<Invariant>,
    /// Trace by trace, states in order.
    pub stays: Vec<Stay>,
    /// Trace by trace, transitions in order.
    pub steps: Vec<Step>,
    /// Whether it is proven that no other merging of the split states has fewer.
    pub smallest: bool,
}

/// The machine of a partition and its graph.
#[must_use]
pub fn build(
    log: &Log,
    partition: &Partition,
    coarsest: &Coarsest,
    relations: &[Relation],
    invariants: Vec<Invariant>,
) -> Machine {
    let graph = &coarsest.graph;
    let mut states: Vec<State> = (0..graph.kinds.len() as u32)
        .map(|state| State { kind: (state > TERMINAL).then(|| graph.kinds[state as usize]), visits: 0, time_ns: 0 })
        .collect();
    let mut leaving = vec![0_u64; states.len()];
    for (&(from, _), &count) in &graph.counts {
        leaving[from as usize] += count;
    }
    let transitions = graph
        .counts
        .iter()
        .map(|(&(from, to), &count)| Transition {
            from,
            to,
            count,
            probability: count as f64 / leaving[from as usize] as f64,
        })
        .collect();
    let stays = stays(log, partition, states.len());
    for stay in &stays {
        states[stay.state as usize].visits += stay.visits;
        states[stay.state as usize].time_ns += stay.time_ns;
    }
    for end in [INITIAL, TERMINAL] {
        states[end as usize].visits = log.traces.len() as u64;
    }
    Machine {
        kinds: log.kinds.clone(),
        traces: log.traces.iter().map(|trace| trace.name.clone()).collect(),
        events: log.traces.iter().map(|trace| trace.events.len() as u64).sum(),
        states,
        transitions,
        relations: relations.to_vec(),
        invariants,
        stays,
        steps: steps(partition, graph),
        smallest: coarsest.smallest,
    }
}

/// The partition's places are gone through once more, and each step counted for its trace.
fn steps(partition: &Partition, graph: &Graph) -> Vec<Step> {
    let number_of: HashMap<(u32, u32), u32> = graph.counts.keys().copied().zip(0..).collect();
    let mut found = Vec::new();
    let mut counts = vec![0_u64; graph.counts.len()];
    let mut trace = 0;
    for pair in partition.states.windows(2) {
        if pair[0] != TERMINAL {
            counts[number_of[&(pair[0], pair[1])] as usize] += 1;
        }
        if pair[1] == TERMINAL {
            for (transition, count) in counts.iter_mut().enumerate().filter(|(_, count)| **count > 0) {
                found.push(Step { trace, transition: transition as u32, count: std::mem::take(count) });
            }
            trace += 1;
        }
    }
    found
}

/// Which state each event of a trace led into is known, and that it lasted until the next event.
fn stays(log: &Log, partition: &Partition, states: usize) -> Vec<Stay> {
    let mut found = Vec::new();
    let mut place = 0;
    let mut visits = vec![0_u64; states];
    let mut times_ns = vec![0_u64; states];
    for (number, trace) in log.traces.iter().enumerate() {
        for (at, event) in trace.events.iter().enumerate() {
            let state = partition.states[place + 1 + at] as usize;
            let until_ns = trace.events.get(at + 1).map_or(trace.end_ns, |next| next.time_ns);
            visits[state] += 1;
            times_ns[state] += (until_ns - event.time_ns) as u64;
        }
        place += trace.events.len() + 2;
        for state in (0..states).filter(|&state| visits[state] > 0) {
            let stay =
                Stay { trace: number as u32, state: state as u32, visits: visits[state], time_ns: times_ns[state] };
            found.push(stay);
        }
        visits.fill(0);
        times_ns.fill(0);
    }
    found
}
