//! The parameters of one stage as a configuration gives them, checked against their specifications.

use serde_json::{Map, Value, json};

use crate::messages::{Problem, clipped, shortened, suggest};
use crate::parameters::{Bounds, Fallback, ParameterSpec, Varies};
use crate::ranges::{self, Range};
use crate::schedule::Schedule;

#[derive(Debug, Clone, PartialEq)]
enum Checked {
    Varying(Schedule),
    Number(f64),
    Integer(u64),
    Boolean(bool),
    Integers(Vec<u64>),
    Ranges(Vec<Range>),
    Text(String),
}

/// The checked parameters of one stage, in the order of its specification.
#[derive(Debug, Clone, PartialEq)]
pub struct Values(Vec<(&'static str, Checked)>);

impl ParameterSpec {
    fn check(&self, value: &Value) -> Result<Checked, Problem> {
        let refused = || {
            let reason = format!("key `{}` is {}: it must be {}", self.name, shortened(value), self.allowed());
            Problem::with(self.name, reason)
        };
        if self.varies != Varies::Never {
            if value.is_object() {
                let schedule = Schedule::check(self, value)
                    .map_err(|error| Problem::with(self.name, format!("key `{}`: {error}", self.name)))?;
                return Ok(Checked::Varying(schedule));
            }
            let constant = self.holds(value).filter(|number| self.varies != Varies::AsRate || *number > 0.0);
            return constant.map(|number| Checked::Varying(Schedule::Constant(number))).ok_or_else(refused);
        }
        let checked = match self.bounds {
            Bounds::Number(..) => self.holds(value).map(Checked::Number),
            Bounds::Integer(..) => self.holds(value).and(value.as_u64()).map(Checked::Integer),
            Bounds::Boolean => value.as_bool().map(Checked::Boolean),
            Bounds::Choice(words) => {
                value.as_str().filter(|word| words.contains(word)).map(|word| Checked::Text(word.to_owned()))
            }
            Bounds::Integers => increasing(value).map(Checked::Integers),
            Bounds::Bits => value
                .as_str()
                .filter(|text| !text.is_empty() && text.bytes().all(|byte| matches!(byte, b'0' | b'1')))
                .map(|text| Checked::Text(text.to_owned())),
            Bounds::Ranges(bounds) => ranges::read(value, bounds).map(Checked::Ranges),
        };
        checked.ok_or_else(refused)
    }

    fn absent(&self) -> Result<Checked, Problem> {
        let constant = match self.fallback {
            Fallback::Required => {
                let reason = format!("key `{}` is missing: it must be {}", self.name, self.allowed());
                return Err(Problem::with(self.name, reason));
            }
            Fallback::Number(number) => json!(number),
            Fallback::Integer(number) => json!(number),
            Fallback::Boolean(truth) => json!(truth),
            Fallback::Word(word) => json!(word),
            Fallback::Nothing => json!([]),
        };
        self.check(&constant)
    }
}

fn increasing(value: &Value) -> Option<Vec<u64>> {
    let numbers: Vec<u64> = value.as_array()?.iter().map(Value::as_u64).collect::<Option<_>>()?;
    (!numbers.is_empty() && numbers.windows(2).all(|pair| pair[0] < pair[1])).then_some(numbers)
}

impl Values {
    /// Checks the parameters of a configuration against their specifications; an error names the key and what is allowed.
    pub(crate) fn check(specs: &'static [ParameterSpec], given: &Map<String, Value>) -> Result<Self, Problem> {
        let names = || specs.iter().map(|spec| spec.name);
        if let Some(unknown) = given.keys().find(|key| !names().any(|name| name == key.as_str())) {
            let reason = format!("unknown key `{}`{}", clipped(unknown), suggest(unknown, names()));
            return Err(Problem::with(&clipped(unknown), reason));
        }
        let mut values = Vec::with_capacity(specs.len());
        for spec in specs {
            let checked = given.get(spec.name).map_or_else(|| spec.absent(), |value| spec.check(value))?;
            values.push((spec.name, checked));
        }
        Ok(Self(values))
    }

    fn get(&self, name: &str) -> &Checked {
        let found = self.0.iter().find(|(key, _)| *key == name);
        &found.unwrap_or_else(|| panic!("the stage's specification lacks `{name}`")).1
    }

    /// Index of a parameter in its stage's specification.
    pub(crate) fn index(&self, name: &str) -> usize {
        let found = self.0.iter().position(|(key, _)| *key == name);
        found.unwrap_or_else(|| panic!("the stage's specification lacks `{name}`"))
    }

    /// A parameter that may change with time.
    ///
    /// # Panics
    /// If the stage's specification does not declare it so.
    #[must_use]
    pub fn schedule(&self, name: &str) -> &Schedule {
        match self.get(name) {
            Checked::Varying(schedule) => schedule,
            other => panic!("`{name}` is declared as {other:?}"),
        }
    }

    /// A parameter declared as [`Bounds::Number`].
    ///
    /// # Panics
    /// If the stage's specification does not declare it so.
    #[must_use]
    pub fn number(&self, name: &str) -> f64 {
        match self.get(name) {
            Checked::Number(number) => *number,
            other => panic!("`{name}` is declared as {other:?}"),
        }
    }

    /// A parameter declared as [`Bounds::Integer`].
    ///
    /// # Panics
    /// If the stage's specification does not declare it so.
    #[must_use]
    pub fn integer(&self, name: &str) -> u64 {
        match self.get(name) {
            Checked::Integer(number) => *number,
            other => panic!("`{name}` is declared as {other:?}"),
        }
    }

    /// A parameter declared as [`Bounds::Boolean`].
    ///
    /// # Panics
    /// If the stage's specification does not declare it so.
    #[must_use]
    pub fn boolean(&self, name: &str) -> bool {
        match self.get(name) {
            Checked::Boolean(truth) => *truth,
            other => panic!("`{name}` is declared as {other:?}"),
        }
    }

    /// A parameter declared as [`Bounds::Choice`] or [`Bounds::Bits`].
    ///
    /// # Panics
    /// If the stage's specification does not declare it so.
    #[must_use]
    pub fn text(&self, name: &str) -> &str {
        match self.get(name) {
            Checked::Text(text) => text,
            other => panic!("`{name}` is declared as {other:?}"),
        }
    }

    /// A parameter declared as [`Bounds::Integers`].
    ///
    /// # Panics
    /// If the stage's specification does not declare it so.
    #[must_use]
    pub fn integers(&self, name: &str) -> &[u64] {
        match self.get(name) {
            Checked::Integers(numbers) => numbers,
            other => panic!("`{name}` is declared as {other:?}"),
        }
    }

    /// A parameter declared as [`Bounds::Ranges`].
    ///
    /// # Panics
    /// If the stage's specification does not declare it so.
    #[must_use]
    pub fn ranges(&self, name: &str) -> &[Range] {
        match self.get(name) {
            Checked::Ranges(ranges) => ranges,
            other => panic!("`{name}` is declared as {other:?}"),
        }
    }
}
