//! Parameters of a stage: declared once, used to check a configuration, to build the stage and to describe it.

use serde_json::{Map, Value, json};

/// What values a parameter may take.
#[derive(Debug, Clone, Copy)]
pub enum Bounds {
    /// A number; both ends are allowed.
    Number {
        /// The least.
        minimum: f64,
        /// The greatest.
        maximum: f64,
    },
    /// A whole number; both ends are allowed.
    Integer {
        /// The least.
        minimum: u64,
        /// The greatest.
        maximum: u64,
    },
    /// true or false.
    Boolean,
}

/// One parameter of a stage.
pub struct ParameterSpec {
    /// Its key, with the unit in it where it has one.
    pub name: &'static str,
    /// Its unit.
    pub unit: &'static str,
    /// What it may be.
    pub bounds: Bounds,
    /// What it means.
    pub meaning: &'static str,
}

#[derive(Debug, Clone, Copy, PartialEq)]
enum Checked {
    Number(f64),
    Integer(u64),
    Boolean(bool),
}

/// The checked parameters of one stage.
#[derive(Debug, Clone, PartialEq)]
pub struct Values(Vec<(&'static str, Checked)>);

impl ParameterSpec {
    /// Name, type, unit, bounds and meaning as JSON.
    #[must_use]
    pub fn describe(&self) -> Value {
        let mut described = match self.bounds {
            Bounds::Number { minimum, maximum } => json!({"type": "number", "minimum": minimum, "maximum": maximum}),
            Bounds::Integer { minimum, maximum } => json!({"type": "integer", "minimum": minimum, "maximum": maximum}),
            Bounds::Boolean => json!({"type": "boolean"}),
        };
        described["name"] = json!(self.name);
        described["unit"] = json!(self.unit);
        described["meaning"] = json!(self.meaning);
        described
    }

    fn allowed(&self) -> String {
        match self.bounds {
            Bounds::Number { minimum, maximum } => format!("a number from {minimum} to {maximum}"),
            Bounds::Integer { minimum, maximum } => format!("a whole number from {minimum} to {maximum}"),
            Bounds::Boolean => "true or false".to_owned(),
        }
    }

    fn check(&self, value: &Value) -> Option<Checked> {
        match self.bounds {
            Bounds::Number { minimum, maximum } => {
                value.as_f64().filter(|number| (minimum..=maximum).contains(number)).map(Checked::Number)
            }
            Bounds::Integer { minimum, maximum } => {
                value.as_u64().filter(|number| (minimum..=maximum).contains(number)).map(Checked::Integer)
            }
            Bounds::Boolean => value.as_bool().map(Checked::Boolean),
        }
    }
}

impl Values {
    /// Checks what the configuration gives against what the stage wants; the error says which key and what is allowed.
    pub(crate) fn check(specs: &'static [ParameterSpec], given: &Map<String, Value>) -> Result<Self, String> {
        let names = || specs.iter().map(|spec| spec.name);
        if let Some(unknown) = given.keys().find(|key| !names().any(|name| name == key.as_str())) {
            return Err(format!("unknown key `{unknown}`{}", suggest(unknown, names())));
        }
        let mut values = Vec::with_capacity(specs.len());
        for spec in specs {
            let Some(value) = given.get(spec.name) else {
                return Err(format!("key `{}` is missing: it must be {}", spec.name, spec.allowed()));
            };
            let Some(checked) = spec.check(value) else {
                return Err(format!("key `{}` is {value}: it must be {}", spec.name, spec.allowed()));
            };
            values.push((spec.name, checked));
        }
        Ok(Self(values))
    }

    fn get(&self, name: &str) -> Checked {
        let found = self.0.iter().find(|(key, _)| *key == name);
        found.unwrap_or_else(|| panic!("the stage's specification lacks `{name}`")).1
    }

    /// A parameter declared as [`Bounds::Number`].
    ///
    /// # Panics
    /// If the stage's specification does not declare it so.
    #[must_use]
    pub fn number(&self, name: &str) -> f64 {
        match self.get(name) {
            Checked::Number(number) => number,
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
            Checked::Integer(number) => number,
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
            Checked::Boolean(truth) => truth,
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
