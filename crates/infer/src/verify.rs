//! Proof of a machine by other means than those that made it: it accepts every trace, and keeps every invariant.

use crate::invariants::{Invariant, Relation};
use crate::log::{Log, Trace};
use crate::machine::Machine;

const INITIAL: usize = 0;
const TERMINAL: usize = 1;

/// What is wrong with a machine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Flaw {
    /// It does not accept a trace of the log.
    Rejects(usize),
    /// A path of it breaks an invariant.
    Breaks(Invariant),
    /// An invariant that it claims does not hold in a trace.
    Untrue(Invariant, usize),
}

/// Every flaw of a machine against the log it was inferred from; none, if the inference is right.
#[must_use]
pub fn flaws(machine: &Machine, log: &Log) -> Vec<Flaw> {
    let next = successors(machine);
    let mut found: Vec<Flaw> = log
        .traces
        .iter()
        .enumerate()
        .filter(|(_, trace)| !accepts(machine, &next, trace))
        .map(|(number, _)| Flaw::Rejects(number))
        .collect();
    for &invariant in &machine.invariants {
        if let Some(trace) = log.traces.iter().position(|trace| !holds(invariant, trace)) {
            found.push(Flaw::Untrue(invariant, trace));
        }
        if breaks(machine, &next, invariant) {
            found.push(Flaw::Breaks(invariant));
        }
    }
    found
}

/// Whether a sequence of kinds is a path of the machine from its beginning to its end.
#[must_use]
pub fn accepts_kinds(machine: &Machine, kinds: &[u16]) -> bool {
    let next = successors(machine);
    run(machine, &next, kinds.iter().copied())
}

fn successors(machine: &Machine) -> Vec<Vec<usize>> {
    let mut next = vec![Vec::new(); machine.states.len()];
    for transition in &machine.transitions {
        next[transition.from as usize].push(transition.to as usize);
    }
    next
}

fn accepts(machine: &Machine, next: &[Vec<usize>], trace: &Trace) -> bool {
    run(machine, next, trace.events.iter().map(|event| event.kind))
}

/// The machine may have several states that a step could lead to: all are followed at once.
fn run(machine: &Machine, next: &[Vec<usize>], kinds: impl Iterator<Item = u16>) -> bool {
    let mut here = vec![INITIAL];
    for kind in kinds {
        let mut there: Vec<usize> = here
            .iter()
            .flat_map(|&state| &next[state])
            .copied()
            .filter(|&state| state > TERMINAL && machine.states[state].kind == Some(kind))
            .collect();
        there.sort_unstable();
        there.dedup();
        here = there;
    }
    here.iter().any(|&state| next[state].contains(&TERMINAL))
}

fn holds(invariant: Invariant, trace: &Trace) -> bool {
    let kinds: Vec<u16> = trace.events.iter().map(|event| event.kind).collect();
    match (invariant.relation, invariant.a) {
        (Relation::AlwaysFollowedBy, None) => kinds.contains(&invariant.b),
        (Relation::AlwaysFollowedBy, Some(a)) => {
            kinds.iter().rposition(|&kind| kind == a).is_none_or(|last| kinds[last + 1..].contains(&invariant.b))
        }
        (Relation::NeverFollowedBy, None) => !kinds.contains(&invariant.b),
        (Relation::NeverFollowedBy, Some(a)) => {
            kinds.iter().position(|&kind| kind == a).is_none_or(|first| !kinds[first + 1..].contains(&invariant.b))
        }
        (Relation::AlwaysPrecedes, a) => kinds
            .iter()
            .position(|&kind| kind == invariant.b)
            .is_none_or(|first| a.is_none_or(|a| kinds[..first].contains(&a))),
    }
}

/// By reachability alone: from which states can be gone where, without passing certain states.
fn breaks(machine: &Machine, next: &[Vec<usize>], invariant: Invariant) -> bool {
    let of = |kind: Option<u16>| -> Vec<usize> {
        match kind {
            None => vec![INITIAL],
            Some(_) => (TERMINAL + 1..machine.states.len()).filter(|&s| machine.states[s].kind == kind).collect(),
        }
    };
    let (first, second) = (of(invariant.a), of(Some(invariant.b)));
    let from_start = reachable(next, &[INITIAL], &[]);
    match invariant.relation {
        Relation::AlwaysFollowedBy => first
            .iter()
            .filter(|&&state| state == INITIAL || from_start[state])
            .any(|&state| reachable(next, &[state], &second)[TERMINAL]),
        Relation::NeverFollowedBy => first
            .iter()
            .filter(|&&state| state == INITIAL || from_start[state])
            .any(|&state| second.iter().any(|&other| reachable(next, &[state], &[])[other])),
        Relation::AlwaysPrecedes => {
            let around = reachable(next, &[INITIAL], &first);
            second.iter().any(|&state| around[state])
        }
    }
}

/// States that can be reached in one step or more from some, entering none of `without`.
fn reachable(next: &[Vec<usize>], from: &[usize], without: &[usize]) -> Vec<bool> {
    let mut reached = vec![false; next.len()];
    let mut open: Vec<usize> = from.to_vec();
    while let Some(state) = open.pop() {
        for &to in &next[state] {
            if !reached[to] && !without.contains(&to) {
                reached[to] = true;
                open.push(to);
            }
        }
    }
    reached
}
