//! Temporal invariants: what is true of every trace.

use clap::ValueEnum;
use serde::Serialize;

use crate::log::Log;

/// How two kinds of events stand to each other, in every trace.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, ValueEnum)]
#[serde(rename_all = "snake_case")]
#[value(rename_all = "snake_case")]
pub enum Relation {
    /// After each `a` a `b` comes, sooner or later.
    AlwaysFollowedBy,
    /// After an `a` no `b` ever comes.
    NeverFollowedBy,
    /// Before each `b` an `a` has been.
    AlwaysPrecedes,
}

impl Relation {
    /// All three.
    pub const ALL: [Self; 3] = [Self::AlwaysFollowedBy, Self::NeverFollowedBy, Self::AlwaysPrecedes];
}

/// `a relation b`. `a` is `None` for the beginning of a trace: what always follows that occurs in every trace.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Invariant {
    /// How.
    pub relation: Relation,
    /// The first kind, or the beginning.
    pub a: Option<u16>,
    /// The second kind.
    pub b: u16,
}

/// Every invariant that holds in all traces, in order; kinds that never occur have none.
///
/// One pass over the events: for each ordered pair of kinds it is counted how many `a` had a `b` after them and how
/// many `b` had an `a` before them. Only first and last occurrences matter, so a trace costs its length and the square
/// of the kinds in it.
#[must_use]
pub fn mine(log: &Log) -> Vec<Invariant> {
    let kinds = log.kinds.len();
    let mut counts = Counts::new(kinds);
    let mut first = vec![usize::MAX; kinds];
    let mut last = vec![usize::MAX; kinds];
    let mut present: Vec<usize> = Vec::new();
    for trace in &log.traces {
        for (place, event) in trace.events.iter().enumerate() {
            let kind = usize::from(event.kind);
            if first[kind] == usize::MAX {
                first[kind] = place;
                present.push(kind);
            }
            last[kind] = place;
        }
        counts.add(&present, &first, &last);
        for kind in present.drain(..) {
            first[kind] = usize::MAX;
            last[kind] = usize::MAX;
        }
    }
    counts.invariants(log.traces.len())
}

/// Counts of traces, which are enough: a relation holds for every event of a kind in a trace if it holds for the last
/// `a` (a `b` follows it), the first `a` (none follows it) or the first `b` (an `a` precedes it).
struct Counts {
    kinds: usize,
    with: Vec<usize>,
    followed: Vec<usize>,
    ever_followed: Vec<usize>,
    preceded: Vec<usize>,
}

impl Counts {
    fn new(kinds: usize) -> Self {
        let pairs = vec![0; kinds * kinds];
        Self { kinds, with: vec![0; kinds], followed: pairs.clone(), ever_followed: pairs.clone(), preceded: pairs }
    }

    fn add(&mut self, present: &[usize], first: &[usize], last: &[usize]) {
        for &a in present {
            self.with[a] += 1;
            for &b in present {
                let pair = a * self.kinds + b;
                self.followed[pair] += usize::from(last[b] > last[a]);
                self.ever_followed[pair] += usize::from(last[b] > first[a]);
                self.preceded[pair] += usize::from(first[a] < first[b]);
            }
        }
    }

    fn invariants(&self, traces: usize) -> Vec<Invariant> {
        let mut found = Vec::new();
        let mut add = |relation, a, b: usize| found.push(Invariant { relation, a, b: b as u16 });
        for b in (0..self.kinds).filter(|&b| self.with[b] > 0) {
            if self.with[b] == traces {
                add(Relation::AlwaysFollowedBy, None, b);
            }
            for a in (0..self.kinds).filter(|&a| self.with[a] > 0) {
                let pair = a * self.kinds + b;
                if self.followed[pair] == self.with[a] {
                    add(Relation::AlwaysFollowedBy, Some(a as u16), b);
                }
                if self.ever_followed[pair] == 0 {
                    add(Relation::NeverFollowedBy, Some(a as u16), b);
                }
                if a != b && self.preceded[pair] == self.with[b] {
                    add(Relation::AlwaysPrecedes, Some(a as u16), b);
                }
            }
        }
        found.sort_unstable();
        found
    }
}
