//! Splitting states until the graph keeps every invariant.
//!
//! Synoptic splits a state by what its events lead to next. Where an invariant is about something long ago ("after a
//! timeout it never drains"), that follows every loop of the graph around once more with each split, and ends with one
//! state per event. Here a state is split by what the invariant itself remembers of the past, one bit: at the end of
//! that the invariant is kept by construction, and what was split needlessly is merged again afterwards.

use std::collections::BTreeSet;

use crate::graph::{INITIAL, NO_KIND, Partition, TERMINAL};
use crate::invariants::{Invariant, Relation};
use crate::rules::{self, Rules};
use crate::search::violation;

/// Splits states until none of the invariants, which hold in every trace, is broken by a path of the graph.
///
/// A path that breaks an invariant leads through a state whose events differ in what the invariant remembers at them: if
/// all agreed along the path, the last step would be one that some trace took, and the trace would break the
/// invariant. Such states are split, each at most once for an invariant and its parts, so this ends.
///
/// # Panics
/// An invariant does not hold in every trace.
pub fn refine(partition: &mut Partition, invariants: &[Invariant], rules: &mut Rules) {
    let mut memory = vec![false; partition.states.len()];
    loop {
        let graph = partition.graph();
        let broken: BTreeSet<_> = rules.broken(&graph).into_iter().collect();
        if broken.is_empty() {
            return;
        }
        let mut touched = vec![false; graph.kinds.len()];
        for &invariant in invariants.iter().filter(|invariant| broken.contains(&rules::question(**invariant))) {
            let Some(path) = violation(&graph, invariant) else { continue };
            // A path through a state that was split in this round may be gone: it is looked for in the next one.
            if !path.iter().any(|&state| touched[state as usize]) {
                for state in split(partition, invariant, &path, &mut memory) {
                    touched[state as usize] = true;
                }
            }
        }
        assert!(touched.contains(&true), "an invariant is broken on no path");
    }
}

/// Splits every state on the path whose events the invariant distinguishes; returns them.
fn split(partition: &mut Partition, invariant: Invariant, path: &[u32], memory: &mut [bool]) -> Vec<u32> {
    remember(partition, invariant, memory);
    let mut values = vec![(false, false); partition.kinds.len()];
    for (&state, &value) in partition.states.iter().zip(memory.iter()) {
        let seen = &mut values[state as usize];
        *if value { &mut seen.1 } else { &mut seen.0 } = true;
    }
    let mut mixed: Vec<u32> = path.iter().copied().filter(|&state| values[state as usize] == (true, true)).collect();
    mixed.sort_unstable();
    mixed.dedup();
    assert!(!mixed.is_empty(), "a trace breaks an invariant that holds in every trace");
    let mut new = vec![u32::MAX; partition.kinds.len()];
    for &state in &mixed {
        new[state as usize] = partition.kinds.len() as u32;
        partition.kinds.push(partition.kinds[state as usize]);
    }
    for (state, &value) in partition.states.iter_mut().zip(memory.iter()) {
        if value && new[*state as usize] != u32::MAX {
            *state = new[*state as usize];
        }
    }
    mixed
}

/// The memory of an invariant at each place, its event included: whether an `a` has been, or one is still owed its `b`.
/// The ends of a trace are not distinguished.
fn remember(partition: &Partition, invariant: Invariant, memory: &mut [bool]) {
    let mut value = false;
    for (place, &state) in partition.states.iter().enumerate() {
        if state == INITIAL {
            value = invariant.a.is_none();
            memory[place] = false;
            continue;
        }
        if state == TERMINAL {
            memory[place] = false;
            continue;
        }
        let kind = partition.kinds[state as usize];
        debug_assert_ne!(kind, NO_KIND);
        let is_a = invariant.a == Some(kind);
        value = match invariant.relation {
            Relation::AlwaysFollowedBy => is_a || (value && kind != invariant.b),
            Relation::NeverFollowedBy | Relation::AlwaysPrecedes => value || is_a,
        };
        memory[place] = value;
    }
}
