//! Properties over random machines and random traces.

use longlook_infer::{Event, Log, Trace, infer, verify};
use proptest::prelude::*;

fn log_of(kinds: usize, words: &[Vec<u16>]) -> Log {
    let trace = |word: &Vec<u16>| Trace {
        name: String::new(),
        events: word.iter().enumerate().map(|(at, &kind)| Event { kind, time_ns: at as i64 }).collect(),
        end_ns: word.len() as i64,
    };
    Log { kinds: (0..kinds).map(|kind| format!("k{kind}")).collect(), traces: words.iter().map(trace).collect() }
}

fn words(kinds: u16) -> impl Strategy<Value = Vec<Vec<u16>>> {
    prop::collection::vec(prop::collection::vec(0..kinds, 1..12), 1..12)
}

/// A machine with one state per kind: which kinds may begin, follow each other, and end.
#[derive(Clone, Debug)]
struct Generator {
    begins: Vec<bool>,
    follows: Vec<Vec<bool>>,
    ends: Vec<bool>,
}

fn generator(kinds: usize) -> impl Strategy<Value = Generator> {
    let row = || prop::collection::vec(any::<bool>(), kinds);
    (row(), prop::collection::vec(row(), kinds), row()).prop_map(|(mut begins, follows, mut ends)| {
        begins[0] = true;
        ends[0] = true;
        Generator { begins, follows, ends }
    })
}

impl Generator {
    /// Every word up to a length: the largest sample there is.
    fn language(&self, longest: usize) -> Vec<Vec<u16>> {
        let kinds = self.begins.len();
        let mut open: Vec<Vec<u16>> = (0..kinds).filter(|&k| self.begins[k]).map(|k| vec![k as u16]).collect();
        let mut found = Vec::new();
        for _ in 0..longest {
            let mut longer = Vec::new();
            for word in open {
                let last = usize::from(word[word.len() - 1]);
                if self.ends[last] {
                    found.push(word.clone());
                }
                for next in (0..kinds).filter(|&next| self.follows[last][next]) {
                    let mut more = word.clone();
                    more.push(next as u16);
                    longer.push(more);
                }
            }
            open = longer;
        }
        found
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn the_machine_accepts_its_traces_and_keeps_every_invariant(words in words(4)) {
        let log = log_of(4, &words);
        let machine = infer(&log).expect("a log");
        prop_assert_eq!(verify::flaws(&machine, &log), vec![]);
    }

    /// What `smallest` claims, against every way there is to join the states of the machine pairwise.
    #[test]
    fn no_two_states_can_be_one(words in words(3)) {
        let log = log_of(3, &words);
        let machine = infer(&log).expect("a log");
        for one in 2..machine.states.len() as u32 {
            for other in 2..one {
                if machine.states[one as usize].kind == machine.states[other as usize].kind {
                    let mut merged = machine.clone();
                    for transition in &mut merged.transitions {
                        for end in [&mut transition.from, &mut transition.to] {
                            *end = if *end == one { other } else { *end };
                        }
                    }
                    prop_assert!(!verify::flaws(&merged, &log).is_empty(), "{} and {} can be one", one, other);
                }
            }
        }
    }

    #[test]
    fn the_same_traces_give_the_same_machine(words in words(5)) {
        let log = log_of(5, &words);
        prop_assert_eq!(infer(&log).expect("a log"), infer(&log).expect("a log"));
    }

    #[test]
    fn nothing_is_lost(words in words(4)) {
        let log = log_of(4, &words);
        let machine = infer(&log).expect("a log");
        let events: u64 = words.iter().map(|word| word.len() as u64).sum();
        prop_assert_eq!(machine.states.iter().skip(2).map(|state| state.visits).sum::<u64>(), events);
        prop_assert_eq!(machine.transitions.iter().map(|t| t.count).sum::<u64>(), events + words.len() as u64);
        prop_assert_eq!(machine.states.iter().map(|state| state.time_ns).sum::<u64>(), events);
    }

    /// On a sample with every word up to a length, the language is the generator's: nothing more, nothing less.
    #[test]
    fn the_language_of_a_generator_is_recovered(generator in generator(3)) {
        let sample = generator.language(7);
        let log = log_of(3, &sample);
        let machine = infer(&log).expect("a log");
        prop_assert_eq!(verify::flaws(&machine, &log), vec![]);
        let longer: std::collections::BTreeSet<Vec<u16>> = generator.language(9).into_iter().collect();
        for word in &longer {
            prop_assert!(verify::accepts_kinds(&machine, word), "misses {:?}", word);
        }
        for word in all_words(3, 5) {
            prop_assert_eq!(verify::accepts_kinds(&machine, &word), longer.contains(&word), "{:?}", word);
        }
    }
}

fn all_words(kinds: u16, longest: usize) -> Vec<Vec<u16>> {
    let mut found: Vec<Vec<u16>> = (0..kinds).map(|kind| vec![kind]).collect();
    let mut last = found.clone();
    for _ in 1..longest {
        last = last.iter().flat_map(|word| (0..kinds).map(|kind| [&word[..], &[kind]].concat())).collect();
        found.extend(last.iter().cloned());
    }
    found
}
