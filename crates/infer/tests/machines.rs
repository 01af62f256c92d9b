//! Machines that are known, and what is inferred from their traces.

use longlook_infer::verify::Flaw;
use longlook_infer::{Event, Invariant, Log, Machine, Relation, Trace, infer, infer_keeping, verify};

fn log(kinds: &str, traces: &[&str]) -> Log {
    let names: Vec<String> = kinds.chars().map(String::from).collect();
    let kind = |c: char| kinds.find(c).expect("a kind") as u16;
    let trace = |text: &&str| Trace {
        name: "xy".into(),
        events: text.chars().enumerate().map(|(at, c)| Event { kind: kind(c), time_ns: 10 * at as i64 }).collect(),
        end_ns: 10 * text.len() as i64,
    };
    Log { kinds: names, traces: traces.iter().map(trace).collect() }
}

fn accepts(machine: &Machine, kinds: &str, text: &str) -> bool {
    let word: Vec<u16> = text.chars().map(|c| kinds.find(c).expect("a kind") as u16).collect();
    verify::accepts_kinds(machine, &word)
}

fn count(machine: &Machine, relation: Relation) -> usize {
    machine.invariants.iter().filter(|invariant| invariant.relation == relation).count()
}

#[test]
fn a_loop_stays_one_state() {
    let log = log("ab", &["ab", "abab", "ababab"]);
    let machine = infer(&log).expect("a log");
    assert_eq!(machine.states.len(), 4);
    assert!(verify::flaws(&machine, &log).is_empty());
    assert!(accepts(&machine, "ab", "abababab"));
    assert!(!accepts(&machine, "ab", "aba"));
    assert!(!accepts(&machine, "ab", ""));
}

#[test]
fn what_came_before_is_remembered_where_an_invariant_needs_it() {
    // After x only p, after y only q, with the same m between: one state for m would join them.
    let log = log("xymsp", &["xmp", "yms", "xmmp", "ymms"]);
    let machine = infer(&log).expect("a log");
    assert!(verify::flaws(&machine, &log).is_empty());
    assert_eq!(machine.states.iter().filter(|state| state.kind == Some(2)).count(), 2);
    assert!(accepts(&machine, "xymsp", "xmmmp"));
    assert!(!accepts(&machine, "xymsp", "xms"));
    assert!(!accepts(&machine, "xymsp", "ymp"));
}

#[test]
fn the_three_relations_are_mined() {
    let log = log("abc", &["abc", "ab"]);
    let machine = infer(&log).expect("a log");
    assert_eq!(count(&machine, Relation::AlwaysFollowedBy), 3); // the beginning by a and by b; a by b
    assert_eq!(count(&machine, Relation::AlwaysPrecedes), 3); // a b, a c, b c
    assert_eq!(count(&machine, Relation::NeverFollowedBy), 6); // all pairs but a b, a c, b c
}

#[test]
fn an_event_that_follows_itself_is_neither_owed_nor_forbidden() {
    let log = log("a", &["aa", "a"]);
    let machine = infer(&log).expect("a log");
    assert_eq!(machine.invariants.len(), 1); // every trace has an a
    assert!(verify::flaws(&machine, &log).is_empty());
    let log = self::log("a", &["a", "a"]);
    let machine = infer(&log).expect("a log");
    assert_eq!(count(&machine, Relation::NeverFollowedBy), 1);
    assert!(!accepts(&machine, "a", "aa"));
}

#[test]
fn counts_probabilities_and_times_are_those_of_the_traces() {
    let log = log("ab", &["aab", "ab"]);
    let machine = infer(&log).expect("a log");
    let a = machine.states.iter().position(|state| state.kind == Some(0)).expect("a state") as u32;
    assert_eq!((machine.states[a as usize].visits, machine.states[a as usize].time_ns), (3, 30));
    let again = machine.transitions.iter().find(|t| t.from == a && t.to == a).expect("a loop");
    assert_eq!(again.count, 1);
    assert!((again.probability - 1.0 / 3.0).abs() < 1e-12);
    assert_eq!(machine.stays.iter().filter(|stay| stay.trace == 0).map(|stay| stay.time_ns).sum::<u64>(), 30);
    for state in 0..machine.states.len() as u32 {
        let out: f64 = machine.transitions.iter().filter(|t| t.from == state).map(|t| t.probability).sum();
        assert!(state == 1 || (out - 1.0).abs() < 1e-12);
    }
}

#[test]
fn what_is_no_log_is_told() {
    let mut bad = log("ab", &["ab"]);
    bad.traces[0].events[1].time_ns = -1;
    assert_eq!(infer(&bad).unwrap_err().to_string(), "trace xy, event 1: time runs backwards");
    bad.traces[0].events[1] = Event { kind: 9, time_ns: 10 };
    assert_eq!(infer(&bad).unwrap_err().to_string(), "trace xy, event 1: its kind has no name");
    bad.traces[0].events.clear();
    assert_eq!(infer(&bad).unwrap_err().to_string(), "trace xy has no event");
    bad.traces.clear();
    assert_eq!(infer(&bad).unwrap_err().to_string(), "there is no trace to infer from");
}

#[test]
fn the_verifier_finds_what_is_wrong() {
    let log = log("xymsp", &["xmp", "yms", "xmmp", "ymms"]);
    let machine = infer(&log).expect("a log");
    let mut deaf = machine.clone();
    deaf.transitions.remove(0);
    assert!(verify::flaws(&deaf, &log).iter().any(|flaw| matches!(flaw, Flaw::Rejects(_))));
    let mut silent = machine.clone();
    let missing = silent.invariants.remove(0);
    assert!(verify::flaws(&silent, &log).contains(&Flaw::Missing(missing)));
    let mut lying = machine;
    let untrue = Invariant { relation: Relation::NeverFollowedBy, a: Some(0), b: 2 };
    lying.invariants.push(untrue);
    let flaws = verify::flaws(&lying, &log);
    assert!(flaws.contains(&Flaw::Untrue(untrue)) && flaws.contains(&Flaw::Breaks(untrue)));
    // One state for each kind joins what came before m, and contradicts the traces.
    let mut coarse = infer_keeping(&log, &[]).expect("a log");
    coarse.relations = Relation::ALL.to_vec();
    coarse.invariants = infer(&log).expect("a log").invariants;
    assert!(verify::flaws(&coarse, &log).iter().any(|flaw| matches!(flaw, Flaw::Breaks(_))));
}

#[test]
fn no_relation_leaves_one_state_for_each_kind() {
    let log = log("xymsp", &["xmp", "yms", "xmmp", "ymms"]);
    let machine = infer_keeping(&log, &[]).expect("a log");
    assert_eq!(machine.states.len(), 2 + 5);
    assert!(machine.smallest && machine.invariants.is_empty());
    assert!(verify::flaws(&machine, &log).is_empty());
}

#[test]
fn steps_are_those_of_each_trace() {
    let log = log("ab", &["aab", "ab"]);
    let machine = infer(&log).expect("a log");
    for trace in 0..2 {
        let taken: u64 = machine.steps.iter().filter(|step| step.trace == trace).map(|step| step.count).sum();
        assert_eq!(taken, log.traces[trace as usize].events.len() as u64 + 1);
    }
    for (number, transition) in machine.transitions.iter().enumerate() {
        let steps = machine.steps.iter().filter(|step| step.transition == number as u32);
        assert_eq!(steps.map(|step| step.count).sum::<u64>(), transition.count);
    }
}
