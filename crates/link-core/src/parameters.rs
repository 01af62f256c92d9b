//! Parameters of a stage: declared once, used to check a configuration, to build the stage and to describe it.

use serde_json::{Map, Value, json};

use crate::schedule::{self, Schedule};

/// What values a parameter may take; both ends of a range are allowed.
#[derive(Debug, Clone, Copy)]
pub enum Bounds {
    /// A number.
    Number(f64, f64),
    /// A whole number.
    Integer(u64, u64),
    /// true or false.
    Boolean,
    /// One of these words.
    Choice(&'static [&'static str]),
    /// A list of whole numbers, strictly increasing, with at least one.
    Integers,
    /// A text of the digits 0 and 1, with at least one.
    Bits,
}

/// Whether a parameter may change with time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Varies {
    /// It may not.
    Never,
    /// By steps, redrawn, or as a walk.
    WithTime,
    /// The same, and for a time it may be 0; or a trace of opportunities.
    AsRate,
}

/// A value that a configuration may leave out.
#[derive(Debug, Clone, Copy)]
pub enum Fallback {
    /// There is none: it must be given.
    Required,
    /// This number.
    Number(f64),
    /// This whole number.
    Integer(u64),
    /// This truth.
    Boolean(bool),
    /// This word.
    Word(&'static str),
}

/// One parameter of a stage.
pub struct ParameterSpec {
    /// Its key, with the unit in it where it has one.
    pub name: &'static str,
    /// Its unit.
    pub unit: &'static str,
    /// What it may be.
    pub bounds: Bounds,
    /// Whether it may change with time.
    pub varies: Varies,
    /// What it is where it is not given.
    pub fallback: Fallback,
    /// What it means.
    pub meaning: &'static str,
}

#[derive(Debug, Clone, PartialEq)]
enum Checked {
    Varying(Schedule),
    Number(f64),
    Integer(u64),
    Boolean(bool),
    Integers(Vec<u64>),
    Text(String),
}

/// The checked parameters of one stage, in the order of its specification.
#[derive(Debug, Clone, PartialEq)]
pub struct Values(Vec<(&'static str, Checked)>);

impl ParameterSpec {
    /// A required, constant parameter.
    #[must_use]
    pub const fn new(name: &'static str, unit: &'static str, bounds: Bounds, meaning: &'static str) -> Self {
        Self { name, unit, bounds, varies: Varies::Never, fallback: Fallback::Required, meaning }
    }

    /// The same parameter, allowed to change with time.
    #[must_use]
    pub const fn varying(mut self, varies: Varies) -> Self {
        self.varies = varies;
        self
    }

    /// The same parameter with a value for configurations that leave it out.
    #[must_use]
    pub const fn or(mut self, fallback: Fallback) -> Self {
        self.fallback = fallback;
        self
    }

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
        }
        schema["description"] = json!(self.meaning);
        if !self.unit.is_empty() {
            schema["x-unit"] = json!(self.unit);
        }
        schema
    }

    /// What it may be, in words.
    pub(crate) fn allowed(&self) -> String {
        let constant = match self.bounds {
            Bounds::Number(minimum, maximum) => format!("a number from {minimum} to {maximum}"),
            Bounds::Integer(minimum, maximum) => format!("a whole number from {minimum} to {maximum}"),
            Bounds::Boolean => "true or false".to_owned(),
            Bounds::Choice(words) => format!("one of {}", words.join(", ")),
            Bounds::Integers => "a list of whole numbers, strictly increasing".to_owned(),
            Bounds::Bits => "a text of the digits 0 and 1".to_owned(),
        };
        match self.varies {
            Varies::Never => constant,
            Varies::WithTime => format!("{constant}, or {{steps}}, {{uniform}} or {{walk}}"),
            Varies::AsRate => format!("{constant}, or {{steps}}, {{uniform}}, {{walk}} or {{opportunities}}"),
        }
    }

    /// Whether `number` is a value of it at one time; what varies as a rate may be 0 for a time.
    pub(crate) fn holds(&self, number: &Value) -> Option<f64> {
        let found = match self.bounds {
            Bounds::Number(minimum, maximum) => number.as_f64().filter(|it| (minimum..=maximum).contains(it)),
            Bounds::Integer(minimum, maximum) => {
                number.as_u64().filter(|it| (minimum..=maximum).contains(it)).map(|it| it as f64)
            }
            _ => None,
        };
        found.or_else(|| (self.varies == Varies::AsRate && number.as_u64() == Some(0)).then_some(0.0))
    }

    fn check(&self, value: &Value) -> Result<Checked, String> {
        let refused = || format!("key `{}` is {}: it must be {}", self.name, shortened(value), self.allowed());
        if self.varies != Varies::Never {
            if value.is_object() {
                let schedule = Schedule::check(self, value).map_err(|error| format!("key `{}`: {error}", self.name))?;
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
        };
        checked.ok_or_else(refused)
    }

    fn absent(&self) -> Result<Checked, String> {
        let constant = match self.fallback {
            Fallback::Required => return Err(format!("key `{}` is missing: it must be {}", self.name, self.allowed())),
            Fallback::Number(number) => json!(number),
            Fallback::Integer(number) => json!(number),
            Fallback::Boolean(truth) => json!(truth),
            Fallback::Word(word) => json!(word),
        };
        self.check(&constant)
    }
}

fn increasing(value: &Value) -> Option<Vec<u64>> {
    let numbers: Vec<u64> = value.as_array()?.iter().map(Value::as_u64).collect::<Option<_>>()?;
    (!numbers.is_empty() && numbers.windows(2).all(|pair| pair[0] < pair[1])).then_some(numbers)
}

/// A value for an error message; a trace of a megabyte does not belong there.
pub(crate) fn shortened(value: &Value) -> String {
    clipped(&value.to_string())
}

/// The beginning of what somebody wrote.
pub(crate) fn clipped(text: &str) -> String {
    const MOST: usize = 80;
    match text.char_indices().nth(MOST) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}

impl Values {
    /// Checks what the configuration gives against what the stage wants; the error says which key and what is allowed.
    pub(crate) fn check(specs: &'static [ParameterSpec], given: &Map<String, Value>) -> Result<Self, String> {
        let names = || specs.iter().map(|spec| spec.name);
        if let Some(unknown) = given.keys().find(|key| !names().any(|name| name == key.as_str())) {
            return Err(format!("unknown key `{}`{}", clipped(unknown), suggest(unknown, names())));
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
}

/// "; did you mean …?" where one of `allowed` is near, and all that is allowed in any case.
pub(crate) fn suggest<'a>(given: &str, allowed: impl Iterator<Item = &'a str>) -> String {
    let allowed: Vec<&str> = allowed.collect();
    let nearest = allowed
        .iter()
        .map(|name| (strsim::jaro_winkler(given, name), name))
        .max_by(|one, other| one.0.total_cmp(&other.0))
        .filter(|(similarity, _)| *similarity > 0.7);
    let list = allowed.join(", ");
    match nearest {
        Some((_, name)) => format!("; did you mean `{name}`? Allowed: {list}"),
        None => format!("; allowed: {list}"),
    }
}
