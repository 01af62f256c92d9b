//! Proof of a machine by other means than those that made it: it accepts every trace, names every invariant that holds in
//! them and no other, and keeps each. (`longlook.explain.infer.check` proves the same again from the written machine alone.)

use std::collections::BTreeSet;

use crate::invariants::{Invariant, Relation};
use crate::log::{Log, Trace};
use crate::machine::Machine;

const INITIAL: usize = 0;
const TERMINAL: usize = 1;

/// A flaw of a machine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Flaw {
    /// It does not accept a trace of the log.
    Rejects(usize),
    /// A path of it breaks an invariant.
    Breaks(Invariant),
    /// An invariant that it claims does not hold in the traces.
    Untrue(Invariant),
    /// An invariant that holds in the traces is not among those that it claims.
    Missing(Invariant),
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
    let claimed: BTreeSet<Invariant> = machine.invariants.iter().copied().collect();
    let mut holding = holding(log);
    holding.retain(|invariant| machine.relations.contains(&invariant.relation));
    found.extend(claimed.difference(&holding).map(|&invariant| Flaw::Untrue(invariant)));
    found.extend(holding.difference(&claimed).map(|&invariant| Flaw::Missing(invariant)));
    found.extend(claimed.into_iter().filter(|&invariant| breaks(machine, &next, invariant)).map(Flaw::Breaks));
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

/// Every invariant that holds, by definition: each event is asked what has been before it and what comes behind it.
fn holding(log: &Log) -> BTreeSet<Invariant> {
    let kinds = log.kinds.len();
    let words = kinds.div_ceil(64);
    let mut known = Known { present: vec![false; kinds], ..Known::default() };
    for table in [&mut known.followed, &mut known.preceded, &mut known.always] {
        *table = vec![u64::MAX; (kinds + 1) * words];
    }
    known.ever_followed = vec![0; kinds * words];
    for trace in &log.traces {
        let mut seen = vec![0_u64; words];
        for event in &trace.events {
            let row = usize::from(event.kind) * words;
            known.present[usize::from(event.kind)] = true;
            for (word, &bits) in seen.iter().enumerate() {
                known.preceded[row + word] &= bits;
            }
            seen[usize::from(event.kind) / 64] |= 1 << (event.kind % 64);
        }
        for (word, bits) in seen.iter().enumerate() {
            known.always[word] &= bits;
        }
        seen.fill(0);
        for event in trace.events.iter().rev() {
            let row = usize::from(event.kind) * words;
            for (word, &bits) in seen.iter().enumerate() {
                known.followed[row + word] &= bits;
                known.ever_followed[row + word] |= bits;
            }
            seen[usize::from(event.kind) / 64] |= 1 << (event.kind % 64);
        }
    }
    known.invariants(words)
}

/// Sets of kinds, one behind the other: per kind, those that came behind all or any of its events, and before all; and
/// those of every trace.
#[derive(Default)]
struct Known {
    present: Vec<bool>,
    followed: Vec<u64>,
    ever_followed: Vec<u64>,
    preceded: Vec<u64>,
    always: Vec<u64>,
}

impl Known {
    fn invariants(&self, words: usize) -> BTreeSet<Invariant> {
        let has = |sets: &[u64], of: usize, kind: usize| sets[of * words + kind / 64] >> (kind % 64) & 1 == 1;
        let present: Vec<usize> = (0..self.present.len()).filter(|&kind| self.present[kind]).collect();
        let mut found = BTreeSet::new();
        for &b in &present {
            let mut add = |relation, a: Option<usize>, b: usize| {
                found.insert(Invariant { relation, a: a.map(|a| a as u16), b: b as u16 });
            };
            if has(&self.always, 0, b) {
                add(Relation::AlwaysFollowedBy, None, b);
            }
            for &a in &present {
                if has(&self.followed, a, b) {
                    add(Relation::AlwaysFollowedBy, Some(a), b);
                }
                if !has(&self.ever_followed, a, b) {
                    add(Relation::NeverFollowedBy, Some(a), b);
                }
                if a != b && has(&self.preceded, b, a) {
                    add(Relation::AlwaysPrecedes, Some(a), b);
                }
            }
        }
        found
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
