//! Whether a graph keeps an invariant, and if not, a shortest path from the beginning that breaks it.

use std::collections::VecDeque;

use crate::graph::{Graph, INITIAL, TERMINAL};
use crate::invariants::{Invariant, Relation};

const UNSEEN: u32 = u32::MAX;

/// A shortest path from INITIAL that no trace can have if the invariant holds in all; `None` where the graph keeps it.
///
/// The search walks pairs of a state and whether `a` has been seen, breadth first and in the order of states, so the
/// same graph always gives the same path.
#[must_use]
pub fn violation(graph: &Graph, invariant: Invariant) -> Option<Vec<u32>> {
    let is = |state: u32, kind: Option<u16>| match kind {
        None => state == INITIAL,
        Some(kind) => graph.kinds[state as usize] == kind && state > TERMINAL,
    };
    let many = graph.kinds.len() as u32;
    let mut from = vec![UNSEEN; 2 * graph.kinds.len()];
    let mut queue = VecDeque::new();
    let begin = if is(INITIAL, invariant.a) { INITIAL + many } else { INITIAL };
    from[begin as usize] = begin;
    queue.push_back(begin);
    while let Some(place) = queue.pop_front() {
        let seen = place >= many;
        for &to in &graph.next[(place % many) as usize] {
            let here = is(to, Some(invariant.b));
            let after = match invariant.relation {
                // An obligation: open since the last a, met by a b. Both at once (a = b) leaves it open.
                Relation::AlwaysFollowedBy => is(to, invariant.a) || (seen && !here),
                Relation::NeverFollowedBy | Relation::AlwaysPrecedes => seen || is(to, invariant.a),
            };
            let broken = match invariant.relation {
                Relation::AlwaysFollowedBy => to == TERMINAL && seen,
                Relation::NeverFollowedBy => here && seen,
                Relation::AlwaysPrecedes => here && !seen,
            };
            let next = if after { to + many } else { to };
            if from[next as usize] == UNSEEN {
                from[next as usize] = place;
                if !broken {
                    queue.push_back(next);
                }
            }
            if broken {
                return Some(path(&from, place, to, many));
            }
        }
    }
    None
}

fn path(from: &[u32], mut place: u32, last: u32, many: u32) -> Vec<u32> {
    let mut path = vec![last, place % many];
    while from[place as usize] != place {
        place = from[place as usize];
        path.push(place % many);
    }
    path.reverse();
    path
}
