//! Events joined into states, and the graph that this makes.

use std::collections::BTreeMap;

use crate::log::Log;

/// The state in which every trace begins, and that in which it ends.
pub const INITIAL: u32 = 0;
/// See [`INITIAL`].
pub const TERMINAL: u32 = 1;
/// The kind of [`INITIAL`] and [`TERMINAL`], which stand for no event.
pub const NO_KIND: u16 = u16::MAX;

/// Which state each event belongs to.
///
/// The traces lie one behind the other in `states`, each as INITIAL, its events, TERMINAL; so the next place is always
/// the next event, but for that of TERMINAL.
#[derive(Clone, Debug)]
pub struct Partition {
    /// Per place, its state.
    pub states: Vec<u32>,
    /// Per state, the kind of its events.
    pub kinds: Vec<u16>,
}

impl Partition {
    /// One state for each kind that occurs.
    #[must_use]
    pub fn by_kind(log: &Log) -> Self {
        let mut kinds = vec![NO_KIND, NO_KIND];
        let mut state_of = vec![u32::MAX; log.kinds.len()];
        let places = log.traces.iter().map(|trace| trace.events.len() + 2).sum();
        let mut states = Vec::with_capacity(places);
        for trace in &log.traces {
            states.push(INITIAL);
            for event in &trace.events {
                let state = &mut state_of[usize::from(event.kind)];
                if *state == u32::MAX {
                    *state = kinds.len() as u32;
                    kinds.push(event.kind);
                }
                states.push(*state);
            }
            states.push(TERMINAL);
        }
        Self { states, kinds }
    }

    /// The graph of the states.
    #[must_use]
    pub fn graph(&self) -> Graph {
        let mut counts: BTreeMap<(u32, u32), u64> = BTreeMap::new();
        let many = self.kinds.len();
        if many * many <= DENSE {
            let mut table = vec![0_u64; many * many];
            for pair in self.states.windows(2) {
                table[pair[0] as usize * many + pair[1] as usize] += 1;
            }
            for (at, &count) in table.iter().enumerate().filter(|(_, count)| **count > 0) {
                counts.insert(((at / many) as u32, (at % many) as u32), count);
            }
        } else {
            for pair in self.states.windows(2) {
                *counts.entry((pair[0], pair[1])).or_default() += 1;
            }
        }
        counts.retain(|&(from, _), _| from != TERMINAL); // the step from one trace to the next
        Graph::new(self.kinds.clone(), counts)
    }
}

/// Up to how many cells a table of all pairs of states is used for counting: 128 MiB.
const DENSE: usize = 1 << 24;

/// States and the transitions between them.
#[derive(Clone, Debug)]
pub struct Graph {
    /// Per state, its kind.
    pub kinds: Vec<u16>,
    /// How often each transition was taken.
    pub counts: BTreeMap<(u32, u32), u64>,
    /// Per state, where transitions lead, in order.
    pub next: Vec<Vec<u32>>,
    /// Per state, where transitions come from, in order.
    pub previous: Vec<Vec<u32>>,
    /// Per kind, the states that transitions lead to, in order.
    pub of_kind: Vec<Vec<u32>>,
}

impl Graph {
    /// A graph of counted transitions.
    #[must_use]
    pub fn new(kinds: Vec<u16>, counts: BTreeMap<(u32, u32), u64>) -> Self {
        let mut next = vec![Vec::new(); kinds.len()];
        let mut previous = vec![Vec::new(); kinds.len()];
        for &(from, to) in counts.keys() {
            next[from as usize].push(to);
            previous[to as usize].push(from);
        }
        let many = kinds.iter().filter(|&&kind| kind != NO_KIND).max().map_or(0, |&kind| usize::from(kind) + 1);
        let mut of_kind = vec![Vec::new(); many];
        for (state, &kind) in kinds.iter().enumerate() {
            if kind != NO_KIND && !previous[state].is_empty() {
                of_kind[usize::from(kind)].push(state as u32);
            }
        }
        Self { kinds, counts, next, previous, of_kind }
    }

    /// The counts with other numbers for the states; what falls together is added up.
    pub fn counted(&self, number: impl Fn(u32) -> u32) -> BTreeMap<(u32, u32), u64> {
        let mut counts = BTreeMap::new();
        for (&(from, to), &count) in &self.counts {
            *counts.entry((number(from), number(to))).or_default() += count;
        }
        counts
    }

    /// The graph with other numbers for the states; those that nothing leads to any more stay without transitions.
    #[must_use]
    pub fn renamed(&self, number: impl Fn(u32) -> u32) -> Self {
        Self::new(self.kinds.clone(), self.counted(number))
    }
}
