//! Stages of every kind with any parameters that their specification allows.

use longlook_link_core::stage::StageSpec;
use longlook_link_core::stages::ALL;
use longlook_link_core::{Bounds, Config, Fallback, ParameterSpec, Varies};
use proptest::prelude::*;
use serde_json::{Map, Value, json};

use crate::common::{configuration, stage};

/// Longer times only make the tests longer: what a link decides an hour later is decided by the same lines.
const LONGEST_NS: u64 = 10_000_000_000;
const SHORTEST_NS: u64 = 20_000_000;

/// Small and large numbers alike.
fn whole(minimum: u64, maximum: u64) -> BoxedStrategy<u64> {
    let any = (any::<u64>(), 0..64_u32);
    let spread = any.prop_map(move |(bits, shift)| minimum.saturating_add(bits >> shift).min(maximum));
    prop_oneof![1 => Just(minimum), 1 => Just(maximum), 8 => spread].boxed()
}

fn constant(spec: &'static ParameterSpec) -> BoxedStrategy<Value> {
    match spec.bounds {
        Bounds::Number(minimum, maximum) => {
            prop_oneof![1 => Just(minimum), 1 => Just(maximum), 4 => minimum..=maximum].prop_map(Value::from).boxed()
        }
        Bounds::Integer(minimum, maximum) => {
            let maximum = if spec.unit == "ns" { maximum.min(LONGEST_NS) } else { maximum };
            whole(minimum, maximum).prop_map(Value::from).boxed()
        }
        Bounds::Boolean => any::<bool>().prop_map(Value::from).boxed(),
        Bounds::Choice(words) => prop::sample::select(words).prop_map(Value::from).boxed(),
        Bounds::Integers => prop::collection::btree_set(0..150_u64, 1..20).prop_map(|set| json!(set)).boxed(),
        Bounds::Bits => "[01]{1,40}".prop_map(Value::from).boxed(),
        Bounds::Ranges(bounds) => ranges(bounds),
    }
}

/// Ranges of packets that the traffic of the tests has.
fn ranges(bounds: Option<(u64, u64)>) -> BoxedStrategy<Value> {
    let (minimum, maximum) = bounds.unwrap_or_default();
    let value = whole(minimum, maximum.min(LONGEST_NS));
    let one = (0..10_u64, 0..5_u64, value);
    prop::collection::vec(one, 1..6)
        .prop_map(move |all| {
            let mut next = 0;
            let row = |(gap, more, value): (u64, u64, u64)| {
                let (first, last) = (next + gap, next + gap + more);
                next = last + 1;
                if bounds.is_some() { json!([first, last, value]) } else { json!([first, last]) }
            };
            Value::from(all.into_iter().map(row).collect::<Vec<_>>())
        })
        .boxed()
}

fn in_order(one: Value, other: Value) -> (Value, Value) {
    if one.as_f64() <= other.as_f64() { (one, other) } else { (other, one) }
}

fn varying(spec: &'static ParameterSpec) -> BoxedStrategy<Value> {
    let one = || match spec.varies {
        Varies::AsRate => prop_oneof![1 => Just(json!(0)), 4 => constant(spec)].boxed(),
        _ => constant(spec),
    };
    let every = || SHORTEST_NS..LONGEST_NS;
    let times = prop::collection::btree_map(1..LONGEST_NS, one(), 0..5);
    let steps = (one(), times, prop::option::of(LONGEST_NS..2 * LONGEST_NS)).prop_map(|(first, later, repeat_ns)| {
        let points: Vec<Value> =
            [(0, first)].into_iter().chain(later).map(|(at_ns, value)| json!([at_ns, value])).collect();
        match repeat_ns {
            Some(repeat_ns) => json!({"steps": points, "repeat_ns": repeat_ns}),
            None => json!({"steps": points}),
        }
    });
    let uniform = (one(), one(), every()).prop_map(|(one, other, every_ns)| {
        let (minimum, maximum) = in_order(one, other);
        json!({"uniform": {"minimum": minimum, "maximum": maximum, "every_ns": every_ns}})
    });
    let walk = (one(), one(), every(), 0.0..=1.0).prop_map(|(one, other, every_ns, share)| {
        let (minimum, maximum) = in_order(one, other);
        let step = share * (maximum.as_f64().unwrap_or(0.0) - minimum.as_f64().unwrap_or(0.0));
        json!({"walk": {"start": minimum, "step": step, "minimum": minimum, "maximum": maximum, "every_ns": every_ns}})
    });
    if spec.varies != Varies::AsRate {
        return prop_oneof![steps, uniform, walk].boxed();
    }
    let runs = prop::collection::btree_map(0..SHORTEST_NS, 1..10_u64, 1..6);
    let trace = (runs, 1..=65_535_u64).prop_map(|(runs, bytes)| {
        let runs: Vec<(u64, u64)> = runs.into_iter().collect();
        json!({"opportunities": {"runs": runs, "bytes": bytes, "repeat_ns": SHORTEST_NS}})
    });
    prop_oneof![steps, uniform, walk, trace].boxed()
}

/// None where it is left out.
fn given(spec: &'static ParameterSpec) -> BoxedStrategy<Option<Value>> {
    let value = match spec.varies {
        Varies::Never => constant(spec),
        _ => prop_oneof![2 => constant(spec), 1 => varying(spec)].boxed(),
    };
    match spec.fallback {
        Fallback::Required => value.prop_map(Some).boxed(),
        _ => prop::option::of(value).boxed(),
    }
}

fn of_kind(spec: &'static StageSpec) -> BoxedStrategy<Value> {
    let parameters: Vec<_> = spec.parameters.iter().map(given).collect();
    let named = |values: Vec<Option<Value>>| {
        let pairs = spec.parameters.iter().zip(values).filter_map(|(one, value)| Some((one.name.to_owned(), value?)));
        stage(spec.kind, &Value::Object(pairs.collect::<Map<String, Value>>()))
    };
    parameters.prop_map(named).boxed()
}

/// Any stages that a direction may have. What a stage refuses in its parameters together is left out.
pub fn stages(most: usize) -> impl Strategy<Value = Vec<Value>> {
    let any = proptest::strategy::Union::new(ALL.iter().map(|spec| of_kind(spec)));
    prop::collection::vec(any, 0..=most).prop_map(|all| {
        let mut kept: Vec<Value> = Vec::new();
        for one in all {
            kept.push(one);
            if let Err(error) = Config::from_json(&configuration(1, &kept, &[])) {
                let last = kept.pop().expect("just pushed");
                let kind = last["kind"].as_str().expect("a name");
                assert!(error.to_string().starts_with(&format!("up, stage {} ({kind}): ", kept.len())), "{error}");
            }
        }
        kept
    })
}
