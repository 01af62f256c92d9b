//! The configuration of a link: JSON in, checked stages out.

use std::fmt;

use serde::Deserialize;
use serde_json::{Map, Value};

use crate::direction::Direction;
use crate::messages::{Problem, clipped, shortened, suggest};
use crate::nat_times::{NatTimes, Rebindings};
use crate::packet::DirectionName;
use crate::stage::{StageConfig, StageSpec};
use crate::stages::{self, nat_timeout};
use crate::surgery;
use crate::values::Values;

pub(crate) const VERSION: u64 = 2;

const KEYS: [&str; 6] = ["version", "seed", "linger_ns", "phase_ns", "up", "down"];
const STAGE_KEYS: [&str; 2] = ["kind", "parameters"];
const MAX_STAGES: usize = 64;
/// So the log has a number for every copy of a packet in one byte.
const MAX_DUPLICATES: usize = 8;

/// A checked configuration.
#[derive(Clone)]
pub struct Config {
    /// Determines every random draw.
    pub seed: u64,
    /// How long nothing may have arrived before the link counts as silent.
    pub linger_ns: u64,
    /// The link time at which the first packet arrives: how far schedules and traces have gone by then.
    pub phase_ns: u64,
    /// Stages from client to server, in the order a packet meets them.
    pub up: Vec<StageConfig>,
    /// Stages from server to client.
    pub down: Vec<StageConfig>,
}

/// A problem of a configuration and its place: the text names direction, stage, key and what is allowed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ConfigError {
    /// The direction that is wrong; `None` for the configuration as a whole.
    pub direction: Option<DirectionName>,
    /// The index of the stage in its direction, from 0; `None` for the direction as a whole.
    pub stage: Option<usize>,
    /// The kind of the stage, as the configuration spells it; `None` where it has none.
    pub kind: Option<String>,
    /// The problem.
    pub problem: Problem,
}

impl ConfigError {
    fn whole(reason: impl Into<String>) -> Self {
        Self { direction: None, stage: None, kind: None, problem: Problem::of_stage(reason) }
    }
}

impl fmt::Display for ConfigError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(direction) = self.direction {
            write!(formatter, "{direction}")?;
            if let Some(stage) = self.stage {
                write!(formatter, ", stage {stage}")?;
            }
            if let Some(kind) = self.kind.as_deref().filter(|kind| spec_of(kind).is_some()) {
                write!(formatter, " ({kind})")?;
            }
            formatter.write_str(": ")?;
        }
        write!(formatter, "{}", self.problem)
    }
}

impl std::error::Error for ConfigError {}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawConfig {
    version: u64,
    seed: u64,
    linger_ns: u64,
    #[serde(default)]
    phase_ns: u64,
    up: Vec<Value>,
    down: Vec<Value>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawStage {
    kind: String,
    #[serde(default)]
    parameters: Map<String, Value>,
}

impl Config {
    /// Reads and checks a configuration; nothing is guessed or left out silently.
    pub fn from_json(text: &str) -> Result<Self, ConfigError> {
        let value: Value =
            serde_json::from_str(text).map_err(|error| ConfigError::whole(format!("not JSON: {error}")))?;
        refuse_unknown(&value, &KEYS).map_err(ConfigError::whole)?;
        for key in ["version", "seed", "linger_ns", "phase_ns"] {
            refuse_other(&value, key, Value::is_u64, "a whole number from 0 to 2⁶⁴ − 1").map_err(ConfigError::whole)?;
        }
        for key in ["up", "down"] {
            refuse_other(&value, key, Value::is_array, "a list of stages").map_err(ConfigError::whole)?;
        }
        let raw: RawConfig = serde_json::from_value(value).map_err(|error| ConfigError::whole(error.to_string()))?;
        if raw.version != VERSION {
            return Err(ConfigError::whole(format!(
                "version {} is not known: this program reads {VERSION}",
                raw.version
            )));
        }
        Ok(Self {
            seed: raw.seed,
            linger_ns: raw.linger_ns,
            phase_ns: raw.phase_ns,
            up: check_direction(DirectionName::Up, raw.up)?,
            down: check_direction(DirectionName::Down, raw.down)?,
        })
    }

    /// When the client's ports change, where the link has a NAT.
    #[must_use]
    pub fn nat(&self) -> Option<NatTimes> {
        let values = |kind| self.up.iter().find(|stage| stage.spec.kind == kind).map(|stage| &stage.values);
        let rebindings = values("nat").map(Rebindings::of);
        let timeout_ns = values(nat_timeout::KIND).map(|values| values.integer("timeout_ns"));
        (rebindings.is_some() || timeout_ns.is_some()).then_some(NatTimes { rebindings, timeout_ns })
    }

    /// Makes one direction in its initial state.
    #[must_use]
    pub fn direction(&self, name: DirectionName) -> Direction {
        let stages = match name {
            DirectionName::Up => &self.up,
            DirectionName::Down => &self.down,
        };
        Direction::new(self.seed, name, stages)
    }
}

fn spec_of(kind: &str) -> Option<&'static StageSpec> {
    stages::ALL.iter().copied().find(|spec| spec.kind == kind)
}

fn check_direction(direction: DirectionName, raw: Vec<Value>) -> Result<Vec<StageConfig>, ConfigError> {
    let error = |stage, kind, problem| ConfigError { direction: Some(direction), stage, kind, problem };
    if raw.len() > MAX_STAGES {
        let reason = format!("{} stages are more than {MAX_STAGES}", raw.len());
        return Err(error(None, None, Problem::of_stage(reason)));
    }
    let mut checked: Vec<StageConfig> = Vec::with_capacity(raw.len());
    for (index, value) in raw.into_iter().enumerate() {
        let kind = value.get("kind").and_then(Value::as_str).map(clipped);
        let stage = check_stage(direction, value)
            .and_then(|stage| not_too_many(&checked, stage))
            .map_err(|problem| error(Some(index), kind, problem))?;
        checked.push(stage);
    }
    Ok(checked)
}

fn not_too_many(earlier: &[StageConfig], stage: StageConfig) -> Result<StageConfig, Problem> {
    let same_kind = earlier.iter().filter(|earlier| earlier.spec.kind == stage.spec.kind).count();
    match (stage.spec.kind, same_kind) {
        (surgery::KIND, 1) => Err(Problem::of_stage("a second `surgery`: a direction has one, give it all operations")),
        (nat_timeout::KIND, 1) => Err(Problem::of_stage("a second `nat_timeout`: a link has one")),
        ("nat", 1) => Err(Problem::of_stage("a second `nat`: a link has one, give it `repeat_ns`")),
        ("duplicate", MAX_DUPLICATES) => Err(Problem::of_stage(format!(
            "more than {MAX_DUPLICATES} of them in one direction: each may double its packets"
        ))),
        _ => Ok(stage),
    }
}

fn check_stage(direction: DirectionName, value: Value) -> Result<StageConfig, Problem> {
    refuse_unknown(&value, &STAGE_KEYS).map_err(Problem::of_stage)?;
    refuse_other(&value, "kind", Value::is_string, "a name").map_err(Problem::of_stage)?;
    refuse_other(&value, "parameters", Value::is_object, "an object").map_err(Problem::of_stage)?;
    let raw: RawStage = serde_json::from_value(value).map_err(|error| Problem::of_stage(error.to_string()))?;
    let Some(spec) = spec_of(&raw.kind) else {
        let hint = suggest(&raw.kind, stages::ALL.iter().map(|spec| spec.kind));
        return Err(Problem::of_stage(format!("unknown kind `{}`{hint}", clipped(&raw.kind))));
    };
    let values = Values::check(spec.parameters, &raw.parameters)?;
    (spec.check)(&values, direction)?;
    Ok(StageConfig { spec, values })
}

/// Serde refuses unknown keys too, but cannot suggest the key that was meant.
fn refuse_unknown(value: &Value, allowed: &[&str]) -> Result<(), String> {
    let Some(object) = value.as_object() else {
        return Err(format!("it must be an object with the keys {}", allowed.join(", ")));
    };
    match object.keys().find(|key| !allowed.contains(&key.as_str())) {
        Some(unknown) => {
            Err(format!("unknown key `{}`{}", clipped(unknown), suggest(unknown, allowed.iter().copied())))
        }
        None => Ok(()),
    }
}

/// Serde does not name the key of a value of the wrong type either.
fn refuse_other(value: &Value, key: &str, allowed: fn(&Value) -> bool, what: &str) -> Result<(), String> {
    match value.get(key) {
        Some(given) if !allowed(given) => Err(format!("key `{key}` is {}: it must be {what}", shortened(given))),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn error(up: &str) -> String {
        let text = format!(r#"{{"version": 2, "seed": 1, "linger_ns": 0, "up": [{up}], "down": []}}"#);
        Config::from_json(&text).err().map(|error| error.to_string()).unwrap_or_default()
    }

    #[test]
    fn the_documented_example_is_valid() {
        let text = r#"{"version": 2, "seed": 12345, "linger_ns": 100000000,
             "up":   [{"kind": "access", "parameters": {"max_ns": 1200000}},
                      {"kind": "loss", "parameters": {"probability": 0.01}},
                      {"kind": "rate", "parameters": {"rate_bps": 10000000, "queue_bytes": 45000}},
                      {"kind": "delay", "parameters": {"delay_ns": 18000000}},
                      {"kind": "jitter", "parameters": {"jitter_ns": 5000000, "reorder": true}}],
             "down": []}"#;
        assert!(Config::from_json(text).is_ok());
    }

    #[test]
    fn errors_name_direction_stage_key_and_what_is_allowed() {
        let cases = [
            (
                r#"{"kind": "rat"}"#,
                "up, stage 0: unknown kind `rat`; did you mean `rate`? Allowed: access, block, burst_loss",
            ),
            (
                r#"{"kind": "loss", "parameter": {}}"#,
                "up, stage 0 (loss): unknown key `parameter`; did you mean `parameters`?",
            ),
            (
                r#"{"kind": "loss", "parameters": {"probabilty": 0.1}}"#,
                "(loss): unknown key `probabilty`; did you mean",
            ),
            (r#"{"kind": "loss", "parameters": {}}"#, "(loss): key `probability` is missing: it must be a number from"),
            (r#"{"kind": "loss", "parameters": {"probability": 1.5}}"#, "is 1.5: it must be a number from 0 to 1"),
            (r#"{"kind": "delay", "parameters": {"delay_ns": -1}}"#, "is -1: it must be a whole number from 0 to"),
            (r#"{"kind": "delay", "parameters": {"delay_ns": 1.5}}"#, "is 1.5: it must be a whole number"),
            (r#"{"kind": "delay", "parameters": {"delay_ns": "18ms"}}"#, r#"is "18ms": it must be a whole number"#),
            (
                r#"{"kind": "delay", "parameters": {"delay_ns": 1}}, {"kind": "jitter", "parameters": {"jitter_ns": 1, "reorder": 1}}"#,
                "up, stage 1 (jitter): key `reorder` is 1: it must be true or false",
            ),
            (r#"{"kind": "access", "parameters": {"max_ns": -1}}"#, "(access): key `max_ns` is -1: it must be a whole"),
            (
                r#"{"kind": "rate", "parameters": {"rate_bps": 1000000, "queue_bytes": 100}}"#,
                "key `queue_bytes` is 100: it must be a whole number from 1500",
            ),
            (
                r#"{"kind": "rate", "parameters": {"rate_bps": {"steps": [[0, 1000000], [0, 2000000]]}}}"#,
                "up, stage 0 (rate): key `rate_bps`: step 1 at 0 ns is not after the one before it, at 0 ns",
            ),
            (
                r#"{"kind": "rate", "parameters": {"rate_bps": {"stepps": [[0, 1000000]]}}}"#,
                "`stepps` is no way to vary; did you mean `steps`?",
            ),
            (
                r#"{"kind": "rate", "parameters": {"rate_bps": {"steps": [[0, 1000000], [5, 0]]}}}"#,
                "nothing would ever leave again",
            ),
            (
                r#"{"kind": "loss", "parameters": {"probability": {"opportunities": {}}}}"#,
                "`opportunities` is no way to vary",
            ),
            (
                r#"{"kind": "rate", "parameters": {"rate_bps": {"opportunities": {"runs": [[5, 1], [4, 1]], "bytes": 1500, "repeat_ns": 9}}}}"#,
                "run 1 at 4 ns is not after the one before it",
            ),
            (r#"{"kind": "rate", "parameters": {"rate_bps": 0}}"#, "is 0: it must be a whole number from 1000"),
            (
                r#"{"kind": "jitter", "parameters": {"jitter_ns": 1, "reorder": true, "law": "gauss"}}"#,
                "it must be one of uniform, normal, pareto",
            ),
            ("3", "up, stage 0: it must be an object with the keys kind, parameters"),
            (r#"{"kind": 3}"#, "up, stage 0: key `kind` is 3: it must be a name"),
            (
                r#"{"kind": "loss", "parameters": []}"#,
                "up, stage 0 (loss): key `parameters` is []: it must be an object",
            ),
            (
                r#"{"kind": "rate", "parameters": {"rate_bps": {"steps": [[0, 1000], [1, 0]], "repeat_ns": 50}}}"#,
                "`repeat_ns` is 50: it must be at least 100000",
            ),
            (
                r#"{"kind": "rate", "parameters": {"rate_bps": {"steps": [[0, 1000], [1, 0]], "repeat_ns": 1000000}}}"#,
                "the mean rate is 0.001 bit/s: it must be at least 1000",
            ),
            (
                r#"{"kind": "rate", "parameters": {"rate_bps": {"opportunities": {"runs": [[5, 1]], "bytes": 1, "repeat_ns": 1000000000}}}}"#,
                "the mean rate is 8 bit/s: it must be at least 1000",
            ),
        ];
        for (stages, expected) in cases {
            let message = error(stages);
            assert!(message.contains(expected), "{stages}\n gives {message:?}\n not {expected:?}");
        }
    }

    #[test]
    fn the_top_level_is_checked_too() {
        let cases = [
            ("[]", "it must be an object with the keys version, seed"),
            (r#"{"version": 2, "sed": 2}"#, "unknown key `sed`; did you mean `seed`?"),
            (r#"{"version": 3, "seed": 1, "linger_ns": 0, "up": [], "down": []}"#, "version 3 is not known"),
            (r#"{"version": 2, "seed": 1, "linger_ns": 0, "up": []}"#, "missing field `down`"),
            (r#"{"version": 2, "seed": -1}"#, "key `seed` is -1: it must be a whole number"),
            (r#"{"version": 2, "phase_ns": 1.5}"#, "key `phase_ns` is 1.5: it must be a whole number"),
            (r#"{"version": 2, "seed": 1, "up": {}}"#, "key `up` is {}: it must be a list of stages"),
            ("{", "not JSON"),
        ];
        for (text, expected) in cases {
            let message = Config::from_json(text).err().map(|error| error.to_string()).unwrap_or_default();
            assert!(message.contains(expected), "{text} gives {message:?}");
        }
    }
}
