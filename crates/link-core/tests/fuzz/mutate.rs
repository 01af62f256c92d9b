//! Configurations with one thing wrong.

use longlook_link_core::Config;
use proptest::prelude::*;
use proptest::sample::Index;
use serde_json::{Map, Value, json};

use crate::common::kinds;

/// The way to a value: keys of objects and places in lists.
type Path = Vec<String>;

#[derive(Debug, Clone)]
enum Mutation {
    Replace(Value),
    Remove,
    /// Another key, beside those of an object or of the object around a value.
    Add(String, Value),
    Rename(String),
}

fn valid() -> impl Strategy<Value = Value> {
    let names: Vec<&'static str> = kinds::repeatable().collect();
    let stage = || (prop::sample::select(names.clone()), any::<bool>());
    let made = |(kind, active): (&str, bool)| if active { kinds::active(kind) } else { kinds::idle(kind) };
    (prop::collection::vec(stage(), 1..5), any::<bool>(), prop::collection::vec(stage(), 0..4)).prop_map(
        move |(up, singles, down)| {
            let single = |kind| singles.then(|| kinds::active(kind));
            let nats = ["nat", "nat_timeout"].into_iter().filter_map(single);
            let up: Vec<Value> = up.into_iter().map(made).chain(nats).collect();
            let down: Vec<Value> = down.into_iter().map(made).chain(single("surgery")).collect();
            json!({"version": 2, "seed": 1, "linger_ns": 0, "up": up, "down": down})
        },
    )
}

fn junk() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<u64>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        prop::sample::select(&[0.5, -0.0, 1e308, -1e308, 5e-324, 1e19, 1.8e19][..]).prop_map(Value::from),
        prop::sample::select(vec![0, 1, u64::MAX, u64::MAX - 1, 1 << 53, 1 << 32]).prop_map(Value::from),
        ".{0,8}".prop_map(Value::from),
        (1..5_000_usize).prop_map(|count| Value::from("1".repeat(count))),
        (1..120_usize).prop_map(|depth| (0..depth).fold(json!(0), |inner, _| json!([inner]))),
        (1..120_usize).prop_map(|depth| (0..depth).fold(json!(0), |inner, _| json!({"steps": inner}))),
    ];
    leaf.prop_recursive(3, 24, 6, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..6).prop_map(Value::from),
            prop::collection::btree_map(key(), inner, 0..4).prop_map(|map| Value::Object(map.into_iter().collect())),
        ]
    })
}

fn key() -> impl Strategy<Value = String> {
    let known =
        ["version", "up", "kind", "parameters", "steps", "repeat_ns", "uniform", "walk", "opportunities", "runs"];
    prop_oneof![prop::sample::select(known.to_vec()).prop_map(str::to_owned), ".{0,6}"]
}

fn mutation() -> impl Strategy<Value = Mutation> {
    prop_oneof![
        4 => junk().prop_map(Mutation::Replace),
        1 => Just(Mutation::Remove),
        1 => (key(), junk()).prop_map(|(key, value)| Mutation::Add(key, value)),
        1 => key().prop_map(Mutation::Rename),
    ]
}

fn paths(value: &Value, path: &Path, all: &mut Vec<Path>) {
    let inner: Vec<(String, &Value)> = match value {
        Value::Object(map) => map.iter().map(|(key, inner)| (key.clone(), inner)).collect(),
        Value::Array(list) => list.iter().enumerate().map(|(place, inner)| (place.to_string(), inner)).collect(),
        _ => Vec::new(),
    };
    for (key, inner) in inner {
        let below: Path = path.iter().cloned().chain([key]).collect();
        all.push(below.clone());
        paths(inner, &below, all);
    }
}

fn child<'a>(value: &'a mut Value, key: &str) -> &'a mut Value {
    match value {
        Value::Object(map) => map.get_mut(key).expect("the path was found there"),
        Value::Array(list) => &mut list[key.parse::<usize>().expect("a place")],
        _ => panic!("a leaf has no {key}"),
    }
}

fn mutate(config: &mut Value, path: &Path, mutation: Mutation) {
    let (key_there, before) = path.split_last().expect("not empty");
    let holder = before.iter().fold(config, |value, key| child(value, key));
    match mutation {
        Mutation::Replace(value) => *child(holder, key_there) = value,
        Mutation::Remove => match holder {
            Value::Object(map) => drop(map.remove(key_there)),
            Value::Array(list) => drop(list.remove(key_there.parse::<usize>().expect("a place"))),
            _ => {}
        },
        Mutation::Add(key, value) => match holder {
            Value::Object(map) => drop(map.insert(key, value)),
            Value::Array(list) => list.push(value),
            _ => {}
        },
        Mutation::Rename(key) => {
            if let Value::Object(map) = holder {
                let inner = map.remove(key_there);
                map.extend(inner.map(|inner| (key, inner)));
            }
        }
    }
}

/// The beginning of an error about a problem at `path`.
fn place(path: &Path) -> Vec<String> {
    match path.as_slice() {
        [key] => vec![key.clone()],
        [direction, stage, rest @ ..] => {
            let mut names = vec![format!("{direction}, stage {stage}")];
            names.extend(rest.get(1).map(|key| format!("`{key}`")));
            names
        }
        [] => Vec::new(),
    }
}

proptest! {
    #[test]
    fn one_wrong_thing_is_read_or_refused_by_its_name(config in valid(), at: Index, mutation in mutation()) {
        let mut all = Vec::new();
        paths(&config, &Path::new(), &mut all);
        let path = at.get(&all);
        let mut wrong = config.clone();
        mutate(&mut wrong, path, mutation.clone());
        let Err(error) = Config::from_json(&wrong.to_string()) else { return Ok(()) };
        let message = error.to_string();
        prop_assert!(message.len() < 2_000, "a message of {} bytes", message.len());
        prop_assume!(!message.starts_with("not JSON"));
        let mut named = place(path);
        match mutation {
            // What was added has a name of its own; a list that is longer or shorter is wrong as a whole.
            Mutation::Add(key, _) | Mutation::Rename(key) if path.len() == 1 || path.len() == 3 || path.len() == 4 => {
                let known = message.contains(&key) || named.iter().all(|name| message.contains(name));
                prop_assert!(known, "no {key} in: {message}");
                return Ok(());
            }
            Mutation::Remove | Mutation::Add(..) if path.len() == 2 => named.clear(),
            _ => {}
        }
        for name in named {
            prop_assert!(message.contains(&name), "no {name} in: {message}");
        }
    }

    #[test]
    fn many_wrong_things_are_refused_too(config in valid(), changes in prop::collection::vec((any::<Index>(), mutation()), 2..8)) {
        let mut wrong = config;
        for (at, mutation) in changes {
            let mut all = Vec::new();
            paths(&wrong, &Path::new(), &mut all);
            if !all.is_empty() {
                mutate(&mut wrong, at.get(&all), mutation);
            }
        }
        if let Err(error) = Config::from_json(&wrong.to_string()) {
            prop_assert!(!error.to_string().is_empty());
        }
    }

    #[test]
    fn anything_else_in_json_is_refused(value in junk()) {
        prop_assert!(Config::from_json(&value.to_string()).is_err());
    }

    #[test]
    fn the_examples_are_valid(config in valid()) {
        prop_assert!(Config::from_json(&config.to_string()).is_ok());
    }

    #[test]
    fn parameters_of_one_stage_may_be_anything(kind in prop::sample::select(kinds::all().collect::<Vec<_>>()), values in prop::collection::vec(junk(), 10)) {
        let spec = longlook_link_core::stages::ALL.iter().find(|spec| spec.kind == kind).expect("there");
        let parameters: Map<String, Value> = spec.parameters.iter().map(|one| one.name.to_owned()).zip(values).collect();
        let config = json!({"version": 2, "seed": 1, "linger_ns": 0, "up": [{"kind": kind, "parameters": parameters}], "down": []});
        if let Err(error) = Config::from_json(&config.to_string()) {
            let message = error.to_string();
            let start = format!("up, stage 0 ({kind}): ");
            let named = message.starts_with(&start) && spec.parameters.iter().any(|one| message.contains(&format!("`{}`", one.name)));
            prop_assert!(named || message.starts_with("not JSON"), "{message}");
        }
    }
}
