//! The machine that comes out: states with their visits and times, transitions with their probabilities.

use serde::{Deserialize, Serialize};

use crate::graph::{Graph, INITIAL, Partition, TERMINAL};
use crate::invariants::Invariant;
use crate::log::Log;

/// A state. Numbers 0 and 1 are the beginning and the end of every trace.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct State {
    /// The kind of its events; `None` for the beginning and the end.
    pub kind: Option<u16>,
    /// How often it was entered.
    pub visits: u64,
    /// For how long the program was in it, over all traces.
    pub time_ns: u64,
}

/// A transition that some trace took.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
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

/// What one trace spent in one state.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
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

/// A state machine with what it was inferred from.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Machine {
    /// Names of kinds.
    pub kinds: Vec<String>,
    /// How many traces.
    pub traces: u64,
    /// How many events.
    pub events: u64,
    /// By number.
    pub states: Vec<State>,
    /// In order of `from` and `to`.
    pub transitions: Vec<Transition>,
    /// All that was mined, and is kept.
    pub invariants: Vec<Invariant>,
    /// Trace by trace, states in order.
    pub stays: Vec<Stay>,
}

/// The machine of a partition and its graph.
#[must_use]
pub fn build(log: &Log, partition: &Partition, graph: &Graph, invariants: Vec<Invariant>) -> Machine {
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
        traces: log.traces.len() as u64,
        events: log.traces.iter().map(|trace| trace.events.len() as u64).sum(),
        states,
        transitions,
        invariants,
        stays,
    }
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
