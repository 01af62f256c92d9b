//! Whether a graph keeps all invariants, found for many at once.
//!
//! Invariants of one relation that share a kind are one question: after an `a`, which kinds can come (never followed)?
//! Without an `a`, which can be reached from the beginning (always precedes)? And from which can the end be reached
//! without a `b` (always followed)? Each is one walk over the graph.

use crate::graph::{Graph, INITIAL, TERMINAL};
use crate::invariants::{Invariant, Relation};

/// One question: a relation, and the kind that its invariants share.
pub type Question = (Relation, u16);

/// The question that an invariant belongs to.
#[must_use]
pub fn question(invariant: Invariant) -> Question {
    match (invariant.relation, invariant.a) {
        (Relation::AlwaysFollowedBy, _) => (invariant.relation, invariant.b),
        (relation, Some(a)) => (relation, a),
        (_, None) => unreachable!("only an event that always follows is related to the beginning"),
    }
}

/// The invariants, sorted into questions.
#[derive(Debug)]
pub struct Rules {
    /// Per question the other kinds that may not be found; what broke last is asked first.
    questions: Vec<(Question, Vec<bool>)>,
    /// Per kind, whether it occurs in every trace.
    always: Vec<bool>,
    seen: Vec<u32>,
    walk: u32,
    open: Vec<u32>,
    /// Transitions looked at so far.
    pub work: u64,
}

/// A graph in which two states may be seen as one, without making it.
#[derive(Clone, Copy)]
pub struct View<'a> {
    /// The graph.
    pub graph: &'a Graph,
    /// The state that is seen as another one, and that one.
    pub merged: Option<(u32, u32)>,
}

impl View<'_> {
    fn renamed(&self, state: u32) -> u32 {
        match self.merged {
            Some((gone, into)) if gone == state => into,
            _ => state,
        }
    }
}

impl Rules {
    /// Makes the rules for invariants over kinds with numbers below `kinds`.
    #[must_use]
    pub fn new(invariants: &[Invariant], kinds: usize) -> Self {
        let mut questions: Vec<(Question, Vec<bool>)> = Vec::new();
        let mut number_of = std::collections::BTreeMap::new();
        let mut always = vec![false; kinds];
        for invariant in invariants {
            let question = question(*invariant);
            let number = *number_of.entry(question).or_insert_with(|| {
                questions.push((question, vec![false; kinds]));
                questions.len() - 1
            });
            let owed = if invariant.relation == Relation::AlwaysFollowedBy { invariant.a } else { Some(invariant.b) };
            match owed {
                Some(other) => questions[number].1[usize::from(other)] = true,
                None => always[usize::from(question.1)] = true,
            }
        }
        Self { questions, always, seen: Vec::new(), walk: 0, open: Vec::new(), work: 0 }
    }

    /// Whether no path breaks any invariant.
    pub fn kept(&mut self, view: View) -> bool {
        for number in 0..self.questions.len() {
            if self.breaks(view, number) {
                self.questions[..=number].rotate_right(1);
                return false;
            }
        }
        true
    }

    /// The questions that some path answers wrongly.
    pub fn broken(&mut self, graph: &Graph) -> Vec<Question> {
        let view = View { graph, merged: None };
        let broken: Vec<usize> = (0..self.questions.len()).filter(|&number| self.breaks(view, number)).collect();
        broken.into_iter().map(|number| self.questions[number].0).collect()
    }

    fn breaks(&mut self, view: View, number: usize) -> bool {
        let ((relation, shared), forbidden) = &self.questions[number];
        let (relation, shared) = (*relation, *shared);
        let graph = view.graph;
        self.seen.resize(graph.kinds.len().max(self.seen.len()), 0);
        self.walk += 1;
        self.open.clear();
        let steps = if relation == Relation::AlwaysFollowedBy { &graph.previous } else { &graph.next };
        match relation {
            Relation::AlwaysFollowedBy => self.open.push(TERMINAL),
            Relation::NeverFollowedBy => self.open.extend_from_slice(&graph.of_kind[usize::from(shared)]),
            Relation::AlwaysPrecedes => self.open.push(INITIAL),
        }
        while let Some(state) = self.open.pop() {
            let (own, joined) = match view.merged {
                Some((gone, into)) if into == state => (&steps[state as usize][..], &steps[gone as usize][..]),
                _ => (&steps[state as usize][..], &[][..]),
            };
            self.work += (own.len() + joined.len()) as u64;
            for &to in own.iter().chain(joined) {
                let to = view.renamed(to);
                if self.seen[to as usize] == self.walk {
                    continue;
                }
                self.seen[to as usize] = self.walk;
                if to == INITIAL || to == TERMINAL {
                    if to == INITIAL && self.always[usize::from(shared)] {
                        return true;
                    }
                    continue;
                }
                let kind = graph.kinds[to as usize];
                if relation != Relation::NeverFollowedBy && kind == shared {
                    continue;
                }
                if forbidden[usize::from(kind)] {
                    return true;
                }
                self.open.push(to);
            }
        }
        false
    }
}
