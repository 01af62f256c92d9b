//! From traces of events to the smallest state machine that keeps what is always true of them.
//!
//! The method is Synoptic's (Beschastnikh, Brun, Schneider, Sloan and Ernst: "Leveraging existing instrumentation to
//! automatically infer invariant-constrained models", ESEC/FSE 2011):
//! 1. mine the temporal invariants that hold in every trace ([`invariants`]);
//! 2. begin with one state for each kind of event, and split states until the machine keeps every invariant: a path of
//!    the machine that breaks one is in no trace, so some state on it joins events that have to be distinguished
//!    ([`refine`]);
//! 3. merge states of one kind again where no invariant breaks ([`coarsen`]).
//!
//! [`verify`] proves the outcome by other means than those that made it. Nothing here reads a clock or a file, and the
//! same traces in the same order give the same machine.

pub mod cli;
pub mod coarsen;
pub mod document;
pub mod graph;
pub mod invariants;
pub mod log;
pub mod machine;
pub mod refine;
pub mod rules;
pub mod search;
pub mod table;
pub mod verify;

pub use invariants::{Invariant, Relation};
pub use log::{Event, Log, LogError, Trace};
pub use machine::{Machine, State, Transition};

use crate::rules::Rules;

/// Infers a machine from a log that keeps the invariants of all three relations.
///
/// # Errors
/// [`LogError`] where the log is no log: no traces, an event of an unknown kind, a time that runs backwards.
pub fn infer(log: &Log) -> Result<Machine, LogError> {
    infer_keeping(log, &Relation::ALL)
}

/// Infers a machine that keeps the invariants of some relations; of none, it has one state for each kind.
///
/// # Errors
/// As [`infer`].
pub fn infer_keeping(log: &Log, relations: &[Relation]) -> Result<Machine, LogError> {
    log.check()?;
    let mut invariants = invariants::mine(log);
    invariants.retain(|invariant| relations.contains(&invariant.relation));
    let mut partition = graph::Partition::by_kind(log);
    let mut rules = Rules::new(&invariants, log.kinds.len());
    refine::refine(&mut partition, &invariants, &mut rules);
    let coarsest = coarsen::coarsen(&mut partition, &mut rules);
    Ok(machine::build(log, &partition, &coarsest, relations, invariants))
}
