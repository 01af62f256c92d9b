//! Parameters that change with time, as a configuration describes them.

use std::sync::Arc;

use serde_json::{Value, json};

use crate::messages::{clipped, shortened, suggest};
use crate::parameters::{ParameterSpec, Varies};

/// The shortest time between two values that are drawn; shorter ones cost memory and are no longer a path's doing.
const MIN_EVERY_NS: u64 = 1_000_000;
/// Times beyond a week are mistakes of unit.
const MAX_AT_NS: u64 = 7 * 24 * 3_600 * 1_000_000_000;
const MAX_COUNT: u64 = 1_000_000;
/// The least constant rate too: 12 seconds for a full packet.
const MIN_MEAN_BPS: f64 = 1_000.0;

/// How a parameter changes with link time, which begins with the first packet.
#[derive(Debug, Clone, PartialEq)]
pub enum Schedule {
    /// It does not.
    Constant(f64),
    /// It takes each value at its time, in nanoseconds; the list begins again after `repeat_ns` where that is given.
    Steps {
        /// Strictly increasing times, the first 0, with their values.
        points: Arc<[(u64, f64)]>,
        /// The length of a repetition, longer than the last time.
        repeat_ns: Option<u64>,
    },
    /// Each `every_ns` it is drawn anew, uniform from `minimum` to `maximum`.
    Uniform {
        /// The least.
        minimum: f64,
        /// The greatest.
        maximum: f64,
        /// How long a value stays.
        every_ns: u64,
    },
    /// Each `every_ns` it moves by a draw uniform in ±`step`; what goes beyond a bound is reflected there.
    Walk {
        /// Its first value.
        start: f64,
        /// The most it moves at once.
        step: f64,
        /// The least.
        minimum: f64,
        /// The greatest.
        maximum: f64,
        /// How long a value stays.
        every_ns: u64,
    },
    /// For a rate: moments at which so many bytes may leave.
    Opportunities {
        /// Increasing times in nanoseconds with the number of opportunities, all at most `repeat_ns`.
        runs: Arc<[(u64, u64)]>,
        /// Bytes that one opportunity carries.
        bytes: u64,
        /// After this it begins again.
        repeat_ns: u64,
    },
}

const FORMS: [(&str, &[&str], Varies); 4] = [
    ("steps", &[], Varies::WithTime),
    ("uniform", &["minimum", "maximum", "every_ns"], Varies::WithTime),
    ("walk", &["start", "step", "minimum", "maximum", "every_ns"], Varies::WithTime),
    ("opportunities", &["runs", "bytes", "repeat_ns"], Varies::AsRate),
];

impl Schedule {
    /// Reads one of the forms; an error has the problem and what is allowed.
    pub(crate) fn check(spec: &ParameterSpec, value: &Value) -> Result<Self, String> {
        let object = value.as_object().expect("the caller has looked");
        let forms = || FORMS.iter().filter(|form| form.2 != Varies::AsRate || spec.varies == Varies::AsRate);
        let Some((name, keys, _)) = forms().find(|form| object.contains_key(form.0)) else {
            let given = object.keys().next().map_or("nothing", String::as_str);
            return Err(format!(
                "`{}` is no way to vary{}",
                clipped(given),
                suggest(given, forms().map(|form| form.0))
            ));
        };
        let others = |key: &&String| key.as_str() != *name && !(*name == "steps" && key.as_str() == "repeat_ns");
        if let Some(unknown) = object.keys().find(others) {
            return Err(format!("unknown key `{}` beside `{name}`", clipped(unknown)));
        }
        let inner = &object[*name];
        if *name == "steps" {
            return steps(spec, inner, object.get("repeat_ns"));
        }
        let Some(fields) = inner.as_object() else {
            return Err(format!("`{name}` must be an object with the keys {}", keys.join(", ")));
        };
        if let Some(unknown) = fields.keys().find(|key| !keys.contains(&key.as_str())) {
            return Err(format!(
                "unknown key `{}` in `{name}`{}",
                clipped(unknown),
                suggest(unknown, keys.iter().copied())
            ));
        }
        match *name {
            "uniform" => uniform(spec, inner),
            "walk" => walk(spec, inner),
            _ => opportunities(inner),
        }
    }
}

fn value_of(spec: &ParameterSpec, form: &str, given: &Value, key: &str) -> Result<f64, String> {
    spec.holds(&given[key])
        .ok_or_else(|| format!("`{key}` of `{form}` is {}: it must be {}", shortened(&given[key]), spec.allowed()))
}

fn time_of(form: &str, given: &Value, key: &str, minimum: u64) -> Result<u64, String> {
    given[key].as_u64().filter(|time| (minimum..=MAX_AT_NS).contains(time)).ok_or_else(|| {
        format!("`{key}` of `{form}` is {}: it must be from {minimum} to {MAX_AT_NS} ns", shortened(&given[key]))
    })
}

fn steps(spec: &ParameterSpec, list: &Value, repeat: Option<&Value>) -> Result<Schedule, String> {
    let Some(entries) = list.as_array().filter(|entries| !entries.is_empty()) else {
        return Err("`steps` must be a list of [at_ns, value] with at least one entry".to_owned());
    };
    let mut points: Vec<(u64, f64)> = Vec::with_capacity(entries.len());
    for (index, entry) in entries.iter().enumerate() {
        let pair = entry.as_array().filter(|pair| pair.len() == 2);
        let at_ns = pair.and_then(|pair| pair[0].as_u64()).filter(|at_ns| *at_ns <= MAX_AT_NS);
        let (Some(pair), Some(at_ns)) = (pair, at_ns) else {
            return Err(format!(
                "step {index} is {}: it must be [at_ns, value], at_ns from 0 to {MAX_AT_NS}",
                shortened(entry)
            ));
        };
        match points.last() {
            None if at_ns != 0 => return Err(format!("step 0 begins at {at_ns} ns: the first must begin at 0")),
            Some((before_ns, _)) if at_ns <= *before_ns => {
                return Err(format!("step {index} at {at_ns} ns is not after the one before it, at {before_ns} ns"));
            }
            _ => {}
        }
        let Some(value) = spec.holds(&pair[1]) else {
            return Err(format!("step {index} has the value {}: it must be {}", shortened(&pair[1]), spec.allowed()));
        };
        points.push((at_ns, value));
    }
    let (end_ns, end_value) = points[points.len() - 1];
    let repeat_ns = match repeat {
        None | Some(Value::Null) => None,
        Some(given) => Some(given.as_u64().filter(|ns| (end_ns + 1..=MAX_AT_NS).contains(ns)).ok_or_else(|| {
            format!(
                "`repeat_ns` is {}: it must be after the last step, at {end_ns} ns, and at most {MAX_AT_NS}",
                shortened(given)
            )
        })?),
    };
    if let Some(short) = repeat_ns.filter(|repeat_ns| *repeat_ns < MIN_EVERY_NS) {
        return Err(format!("`repeat_ns` is {short}: it must be at least {MIN_EVERY_NS}"));
    }
    let for_ever = if repeat_ns.is_some() { points.iter().all(|point| point.1 == 0.0) } else { end_value == 0.0 };
    if spec.varies == Varies::AsRate && for_ever {
        return Err("nothing would ever leave again: give a last step above 0, or `repeat_ns`".to_owned());
    }
    if let Some(repeat_ns) = repeat_ns.filter(|_| spec.varies == Varies::AsRate) {
        let ends = points[1..].iter().map(|point| point.0).chain([repeat_ns]);
        let bit_ns: f64 = points.iter().zip(ends).map(|((at_ns, rate), end_ns)| (end_ns - at_ns) as f64 * rate).sum();
        not_too_slow(bit_ns / repeat_ns as f64)?;
    }
    Ok(Schedule::Steps { points: points.into(), repeat_ns })
}

fn uniform(spec: &ParameterSpec, given: &Value) -> Result<Schedule, String> {
    let (minimum, maximum) =
        (value_of(spec, "uniform", given, "minimum")?, value_of(spec, "uniform", given, "maximum")?);
    let every_ns = time_of("uniform", given, "every_ns", MIN_EVERY_NS)?;
    in_order("uniform", minimum, maximum, spec)?;
    Ok(Schedule::Uniform { minimum, maximum, every_ns })
}

fn walk(spec: &ParameterSpec, given: &Value) -> Result<Schedule, String> {
    let (minimum, maximum) = (value_of(spec, "walk", given, "minimum")?, value_of(spec, "walk", given, "maximum")?);
    let start = value_of(spec, "walk", given, "start")?;
    let every_ns = time_of("walk", given, "every_ns", MIN_EVERY_NS)?;
    in_order("walk", minimum, maximum, spec)?;
    let step = given["step"].as_f64().filter(|step| *step >= 0.0 && *step <= maximum - minimum);
    let Some(step) = step else {
        return Err(format!(
            "`step` of `walk` is {}: it must be from 0 to maximum − minimum",
            shortened(&given["step"])
        ));
    };
    if !(minimum..=maximum).contains(&start) {
        return Err(format!("`start` of `walk` is {start}: it must be from {minimum} to {maximum}"));
    }
    Ok(Schedule::Walk { start, step, minimum, maximum, every_ns })
}

fn in_order(form: &str, minimum: f64, maximum: f64, spec: &ParameterSpec) -> Result<(), String> {
    if minimum > maximum {
        return Err(format!("`minimum` of `{form}` is {minimum}, above its `maximum`, {maximum}"));
    }
    if spec.varies == Varies::AsRate && maximum == 0.0 {
        return Err("nothing would ever leave: give a `maximum` above 0".to_owned());
    }
    Ok(())
}

fn opportunities(given: &Value) -> Result<Schedule, String> {
    let repeat_ns = time_of("opportunities", given, "repeat_ns", 1)?;
    let Some(bytes) = given["bytes"].as_u64().filter(|bytes| (1..=65_535).contains(bytes)) else {
        return Err(format!(
            "`bytes` of `opportunities` is {}: it must be from 1 to 65535",
            shortened(&given["bytes"])
        ));
    };
    let Some(entries) = given["runs"].as_array().filter(|entries| !entries.is_empty()) else {
        return Err("`runs` must be a list of [at_ns, count] with at least one entry".to_owned());
    };
    let mut runs: Vec<(u64, u64)> = Vec::with_capacity(entries.len());
    for (index, entry) in entries.iter().enumerate() {
        let pair = entry.as_array().filter(|pair| pair.len() == 2);
        let numbers = pair.and_then(|pair| Some((pair[0].as_u64()?, pair[1].as_u64()?)));
        let Some((at_ns, count)) = numbers.filter(|(at, count)| *at <= repeat_ns && (1..=MAX_COUNT).contains(count))
        else {
            return Err(format!(
                "run {index} is {}: it must be [at_ns, count], at_ns at most repeat_ns ({repeat_ns}), count from 1",
                shortened(entry)
            ));
        };
        if runs.last().is_some_and(|before| at_ns <= before.0) {
            return Err(format!("run {index} at {at_ns} ns is not after the one before it"));
        }
        runs.push((at_ns, count));
    }
    let bits = runs.iter().map(|(_, count)| (count * bytes) as f64 * 8.0).sum::<f64>();
    not_too_slow(bits * 1e9 / repeat_ns as f64)?;
    Ok(Schedule::Opportunities { runs: runs.into(), bytes, repeat_ns })
}

/// A schedule that repeats must carry a packet within a sensible number of repetitions.
fn not_too_slow(mean_bps: f64) -> Result<(), String> {
    if mean_bps < MIN_MEAN_BPS {
        return Err(format!("the mean rate is {mean_bps} bit/s: it must be at least {MIN_MEAN_BPS}"));
    }
    Ok(())
}

/// The JSON schemas of a constant and of all ways to vary.
pub(crate) fn schemas(constant: &Value, varies: Varies) -> Value {
    let mut value = constant.clone();
    if varies == Varies::AsRate {
        value = json!({"anyOf": [constant, {"const": 0}]});
    }
    let time = json!({"type": "integer", "minimum": 0, "maximum": MAX_AT_NS, "x-unit": "ns"});
    let every = json!({"type": "integer", "minimum": MIN_EVERY_NS, "maximum": MAX_AT_NS, "x-unit": "ns"});
    let object = |name: &str, properties: Value| {
        let keys: Vec<&String> = properties.as_object().expect("an object").keys().collect();
        let inner =
            json!({"type": "object", "additionalProperties": false, "required": keys, "properties": properties});
        json!({"type": "object", "additionalProperties": false, "required": [name], "properties": {name: inner}})
    };
    let pair = json!({"type": "array", "prefixItems": [time, value], "items": false, "minItems": 2});
    let mut forms = vec![
        constant.clone(),
        json!({"type": "object", "additionalProperties": false, "required": ["steps"], "properties": {
            "steps": {"type": "array", "minItems": 1, "items": pair}, "repeat_ns": every}}),
        object("uniform", json!({"minimum": value, "maximum": value, "every_ns": every})),
        object(
            "walk",
            json!({"start": value, "step": {"type": "number", "minimum": 0}, "minimum": value, "maximum": value,
                "every_ns": every}),
        ),
    ];
    if varies == Varies::AsRate {
        let count = json!({"type": "integer", "minimum": 1, "maximum": MAX_COUNT});
        let run = json!({"type": "array", "prefixItems": [time, count], "items": false, "minItems": 2});
        forms.push(object(
            "opportunities",
            json!({"runs": {"type": "array", "minItems": 1, "items": run},
                "bytes": {"type": "integer", "minimum": 1, "maximum": 65_535, "x-unit": "byte"}, "repeat_ns": time}),
        ));
    }
    Value::Array(forms)
}
