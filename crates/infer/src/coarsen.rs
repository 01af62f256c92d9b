//! Merging states of one kind where every invariant is still kept.

use std::collections::BTreeMap;

use crate::graph::{Graph, Partition, TERMINAL};
use crate::invariants::Invariant;
use crate::search::violation;

/// Merges pairs of states of one kind, in order, wherever the graph keeps all invariants; returns the graph.
///
/// Merging only adds paths, so a merge that breaks an invariant breaks it in every coarser graph too: one pass over the
/// pairs leaves a graph in which no two states can be merged.
pub fn coarsen(partition: &mut Partition, invariants: &[Invariant]) -> Graph {
    let mut graph = partition.graph();
    let mut merged_into: Vec<u32> = (0..graph.kinds.len() as u32).collect();
    // What broke last is likely to break again, so it is tried first.
    let mut order: Vec<Invariant> = invariants.to_vec();
    for into in TERMINAL + 1..graph.kinds.len() as u32 {
        if merged_into[into as usize] != into {
            continue;
        }
        for state in into + 1..graph.kinds.len() as u32 {
            if merged_into[state as usize] != state || graph.kinds[state as usize] != graph.kinds[into as usize] {
                continue;
            }
            let candidate = merged(&graph, state, into);
            let broken = order.iter().position(|&invariant| violation(&candidate, invariant).is_some());
            if let Some(broken) = broken {
                order[..=broken].rotate_right(1);
            } else {
                graph = candidate;
                merged_into[state as usize] = into;
            }
        }
    }
    renumber(partition, &graph, &merged_into)
}

fn merged(graph: &Graph, state: u32, into: u32) -> Graph {
    let rename = |at: u32| if at == state { into } else { at };
    let mut counts = BTreeMap::new();
    for (&(from, to), &count) in &graph.counts {
        *counts.entry((rename(from), rename(to))).or_default() += count;
    }
    Graph::new(graph.kinds.clone(), counts)
}

/// States that are left get the numbers from 0 on, in order.
fn renumber(partition: &mut Partition, graph: &Graph, merged_into: &[u32]) -> Graph {
    let mut number = vec![0_u32; merged_into.len()];
    let mut kinds = Vec::new();
    for state in 0..merged_into.len() {
        if merged_into[state] as usize == state {
            number[state] = kinds.len() as u32;
            kinds.push(graph.kinds[state]);
        }
    }
    for state in &mut partition.states {
        *state = number[merged_into[*state as usize] as usize];
    }
    partition.kinds.clone_from(&kinds);
    let counts = graph
        .counts
        .iter()
        .map(|(&(from, to), &count)| ((number[from as usize], number[to as usize]), count))
        .collect();
    Graph::new(kinds, counts)
}
