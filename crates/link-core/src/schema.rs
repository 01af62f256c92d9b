//! The JSON schema of a configuration.

use serde_json::{Map, Value, json};

use crate::config::VERSION;
use crate::parameters::{Bounds, Fallback, ParameterSpec, Varies};
use crate::ranges::{HIGHEST_NUMBER, MOST_RANGES};
use crate::schedule;
use crate::stage::StageSpec;
use crate::stages;

/// The JSON schema (draft 2020-12) of a configuration: every stage with the law, parameters, units and drop reasons.
///
/// Units stand under `x-unit`, drop reasons under `x-drop-reasons`. What stages demand of several parameters together
/// is not in it: [`crate::Config::from_json`] checks that too.
#[must_use]
pub fn describe() -> Value {
    let whole = json!({"type": "integer", "minimum": 0});
    let stages = json!({"type": "array", "items": {"$ref": "#/$defs/stage"}});
    json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "configuration of an emulated link",
        "type": "object",
        "additionalProperties": false,
        "required": ["version", "seed", "linger_ns", "up", "down"],
        "properties": {
            "version": {"const": VERSION}, "seed": whole, "linger_ns": whole, "phase_ns": whole,
            "up": stages, "down": stages,
        },
        "$defs": {"stage": {"oneOf": stages::ALL.iter().map(|spec| stage(spec)).collect::<Vec<_>>()}},
    })
}

fn stage(spec: &StageSpec) -> Value {
    let parameters: Map<String, Value> =
        spec.parameters.iter().map(|parameter| (parameter.name.to_owned(), parameter.schema())).collect();
    let required: Vec<&str> = spec.parameters.iter().filter(|one| is_required(one)).map(|one| one.name).collect();
    let needed = if required.is_empty() { vec!["kind"] } else { vec!["kind", "parameters"] };
    json!({
        "title": spec.kind,
        "description": spec.law,
        "type": "object",
        "additionalProperties": false,
        "required": needed,
        "properties": {
            "kind": {"const": spec.kind},
            "parameters": {
                "type": "object",
                "additionalProperties": false,
                "required": required,
                "properties": parameters,
            },
        },
        "x-drop-reasons": spec.drop_reasons,
    })
}

fn is_required(parameter: &ParameterSpec) -> bool {
    matches!(parameter.fallback, Fallback::Required)
}

impl ParameterSpec {
    /// Its JSON schema.
    #[must_use]
    pub fn schema(&self) -> Value {
        let constant = match self.bounds {
            Bounds::Number(minimum, maximum) => json!({"type": "number", "minimum": minimum, "maximum": maximum}),
            Bounds::Integer(minimum, maximum) => json!({"type": "integer", "minimum": minimum, "maximum": maximum}),
            Bounds::Boolean => json!({"type": "boolean"}),
            Bounds::Choice(words) => json!({"type": "string", "enum": words}),
            Bounds::Integers => {
                json!({"type": "array", "items": {"type": "integer", "minimum": 0}, "minItems": 1, "uniqueItems": true})
            }
            Bounds::Bits => json!({"type": "string", "pattern": "^[01]+$"}),
            Bounds::Ranges(bounds) => ranges_schema(bounds),
        };
        let mut schema = match self.varies {
            Varies::Never => constant,
            varies => json!({"oneOf": schedule::schemas(&constant, varies)}),
        };
        match self.fallback {
            Fallback::Required => {}
            Fallback::Number(number) => schema["default"] = json!(number),
            Fallback::Integer(number) => schema["default"] = json!(number),
            Fallback::Boolean(truth) => schema["default"] = json!(truth),
            Fallback::Word(word) => schema["default"] = json!(word),
            Fallback::Nothing => schema["default"] = json!([]),
        }
        schema["description"] = json!(self.meaning);
        if !self.unit.is_empty() {
            schema["x-unit"] = json!(self.unit);
        }
        schema
    }
}

fn ranges_schema(bounds: Option<(u64, u64)>) -> Value {
    let number = json!({"type": "integer", "minimum": 0, "maximum": HIGHEST_NUMBER});
    let mut row = vec![number.clone(), number];
    row.extend(bounds.map(|(minimum, maximum)| json!({"type": "integer", "minimum": minimum, "maximum": maximum})));
    let length = row.len();
    let rows = json!({"type": "array", "prefixItems": row, "minItems": length, "maxItems": length});
    json!({"type": "array", "items": rows, "maxItems": MOST_RANGES})
}
