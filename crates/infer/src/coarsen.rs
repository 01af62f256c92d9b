//! Merging states of one kind where every invariant is still kept, down to as few as can be.
//!
//! Merging only adds paths, so what breaks an invariant breaks it in every coarser graph too. Which states can be one is
//! then a question like the colouring of a graph, and as hard: states are first merged one by one, which leaves a graph
//! where no two can be merged any more. States of which no two can ever be one prove how many there have to be; where
//! that is fewer than were left, a search goes on for as long as it may.

use crate::graph::{Graph, Partition, TERMINAL};
use crate::rules::{Rules, View};

/// How many transitions may be looked at to find a smaller graph, or to prove that there is none: some tenths of a second.
const MOST_WORK: u64 = 30_000_000;

/// The most states for which a smaller graph is searched: each costs a graph in memory.
const MOST_STATES: usize = 300;

/// The graph that is left, and whether it is proven that no other merging leaves fewer states.
pub struct Coarsest {
    /// The graph.
    pub graph: Graph,
    /// Whether there is proof.
    pub smallest: bool,
}

/// Merges states of the partition until the graph would break an invariant.
pub fn coarsen(partition: &mut Partition, rules: &mut Rules) -> Coarsest {
    let fine = partition.graph();
    let into = one_by_one(&fine, rules);
    let enough = rules.work + MOST_WORK;
    let bounds = bounds(&fine, &into, rules, enough);
    let mut order: Vec<u32> = (TERMINAL + 1..fine.kinds.len() as u32).collect();
    order.sort_by_key(|&state| fine.kinds[state as usize]);
    let left = blocks(&into);
    let mut search = Search { fine: &fine, rules, bounds, enough, order, left, best: into, proven: true };
    if search.left > search.bounds.iter().sum() {
        search.run();
    }
    let (best, smallest) = (search.best, search.proven);
    Coarsest { graph: renumber(partition, &fine, &best), smallest }
}

/// Merges each state with the first before it that it can be one with; returns for each state its new number.
fn one_by_one(fine: &Graph, rules: &mut Rules) -> Vec<u32> {
    let mut into: Vec<u32> = (0..fine.kinds.len() as u32).collect();
    let mut graph = fine.clone();
    for state in TERMINAL + 1..into.len() as u32 {
        let kind = usize::from(fine.kinds[state as usize]);
        let earlier: Vec<u32> = graph.of_kind[kind].iter().copied().filter(|&other| other < state).collect();
        let found = earlier.into_iter().find(|&other| rules.kept(View { graph: &graph, merged: Some((state, other)) }));
        if let Some(other) = found {
            into[state as usize] = other;
            graph = graph.renamed(|at| if at == state { other } else { at });
        }
    }
    into
}

fn blocks(into: &[u32]) -> usize {
    (TERMINAL as usize + 1..into.len()).filter(|&state| into[state] as usize == state).count()
}

/// Per kind, how many states there have to be: the size of a set of which no two can be one, found greedily.
fn bounds(fine: &Graph, into: &[u32], rules: &mut Rules, enough: u64) -> Vec<usize> {
    let mut found = Vec::with_capacity(fine.of_kind.len());
    for states in &fine.of_kind {
        let left = states.iter().filter(|&&state| into[state as usize] == state).count();
        if left <= 1 {
            found.push(left);
            continue;
        }
        let mut best = 1;
        for &first in states {
            let mut apart = vec![first];
            for &state in states {
                if rules.work > enough || best >= left {
                    break;
                }
                if apart.iter().all(|&other| {
                    other != state
                        && !rules.kept(View { graph: fine, merged: Some((state.max(other), state.min(other))) })
                }) {
                    apart.push(state);
                }
            }
            best = best.max(apart.len());
        }
        found.push(best);
    }
    found
}

/// Every way to merge, but those that cannot lead to fewer states than the best so far.
struct Search<'a> {
    fine: &'a Graph,
    rules: &'a mut Rules,
    bounds: Vec<usize>,
    enough: u64,
    /// States, those of one kind behind each other.
    order: Vec<u32>,
    left: usize,
    best: Vec<u32>,
    proven: bool,
}

impl Search<'_> {
    fn run(&mut self) {
        if self.order.len() > MOST_STATES {
            self.proven = false;
            return;
        }
        let into = (0..self.fine.kinds.len() as u32).collect();
        self.descend(0, self.fine, into, &[], 0);
    }

    /// Places the states from `at` on: `own` are those that stand for others of the present kind, `others` counts those
    /// of the kinds before it.
    fn descend(&mut self, at: usize, graph: &Graph, mut into: Vec<u32>, own: &[u32], others: usize) {
        let Some(&state) = self.order.get(at) else {
            self.left = others + own.len();
            self.best = into;
            return;
        };
        let kind = self.fine.kinds[state as usize];
        let same = at > 0 && self.fine.kinds[self.order[at - 1] as usize] == kind;
        let (own, others) = if same { (own, others) } else { (&[][..], others + own.len()) };
        let rest: usize = self.later_kinds(at).map(|kind| self.bounds[kind]).sum();
        for &other in own {
            if self.hopeless(others + own.len().max(self.bounds[usize::from(kind)]) + rest) {
                return;
            }
            if self.rules.kept(View { graph, merged: Some((state, other)) }) {
                into[state as usize] = other;
                let coarser = graph.renamed(|at| if at == state { other } else { at });
                self.descend(at + 1, &coarser, into.clone(), own, others);
            }
        }
        if !self.hopeless(others + (own.len() + 1).max(self.bounds[usize::from(kind)]) + rest) {
            into[state as usize] = state;
            let own = [own, &[state]].concat();
            self.descend(at + 1, graph, into, &own, others);
        }
    }

    /// Kinds of which no state has been placed when that at `at` is.
    fn later_kinds(&self, at: usize) -> impl Iterator<Item = usize> + '_ {
        let last = self.order[at];
        let mut kinds: Vec<u16> = self.order[at..].iter().map(|&state| self.fine.kinds[state as usize]).collect();
        kinds.dedup();
        kinds.into_iter().filter(move |&kind| kind != self.fine.kinds[last as usize]).map(usize::from)
    }

    fn hopeless(&mut self, at_least: usize) -> bool {
        self.proven &= self.rules.work <= self.enough;
        !self.proven || at_least >= self.left
    }
}

/// States that are left get the numbers from 0 on, in order.
fn renumber(partition: &mut Partition, fine: &Graph, into: &[u32]) -> Graph {
    let mut number = vec![0_u32; into.len()];
    let mut kinds = Vec::new();
    for state in 0..into.len() {
        if into[state] as usize == state {
            number[state] = kinds.len() as u32;
            kinds.push(fine.kinds[state]);
        }
    }
    let new = |state: u32| number[into[state as usize] as usize];
    for state in &mut partition.states {
        *state = new(*state);
    }
    partition.kinds.clone_from(&kinds);
    Graph::new(kinds, fine.counted(new))
}
