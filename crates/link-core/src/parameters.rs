//! Parameters of a stage: declared once, used to check a configuration, to build the stage and to describe it.

use serde_json::Value;

use crate::ranges::MOST_RANGES;

/// The values that a parameter may take; both ends of a range are allowed.
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
    /// A list of ranges of packets, in order and apart; each with a whole number within these bounds, if there are any.
    Ranges(Option<(u64, u64)>),
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
    /// A list without entries.
    Nothing,
}

/// One parameter of a stage.
pub struct ParameterSpec {
    /// Its key, with the unit in it where it has one.
    pub name: &'static str,
    /// Its unit.
    pub unit: &'static str,
    /// Its allowed values.
    pub bounds: Bounds,
    /// Whether it may change with time.
    pub varies: Varies,
    /// Its value if it is not given.
    pub fallback: Fallback,
    /// Its meaning.
    pub meaning: &'static str,
}

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

    /// Returns the allowed values in words.
    pub(crate) fn allowed(&self) -> String {
        let constant = match self.bounds {
            Bounds::Number(minimum, maximum) => format!("a number from {minimum} to {maximum}{}", self.shown_unit()),
            Bounds::Integer(minimum, maximum) => {
                format!("a whole number from {minimum} to {maximum}{}", self.shown_unit())
            }
            Bounds::Boolean => "true or false".to_owned(),
            Bounds::Choice(words) => format!("one of {}", words.join(", ")),
            Bounds::Integers => "a list of whole numbers, strictly increasing".to_owned(),
            Bounds::Bits => "a text of the digits 0 and 1".to_owned(),
            Bounds::Ranges(None) => {
                format!("at most {MOST_RANGES} ranges [first, last] of packets, in order and apart")
            }
            Bounds::Ranges(Some((minimum, maximum))) => format!(
                "at most {MOST_RANGES} ranges [first, last, {0}] of packets, in order and apart, {0} from {minimum} to \
                 {maximum}",
                self.unit
            ),
        };
        match self.varies {
            Varies::Never => constant,
            Varies::WithTime => format!("{constant}, or {{steps}}, {{uniform}} or {{walk}}"),
            Varies::AsRate => format!("{constant}, or {{steps}}, {{uniform}}, {{walk}} or {{opportunities}}"),
        }
    }

    fn shown_unit(&self) -> String {
        if matches!(self.unit, "" | "1") { String::new() } else { format!(" {}", self.unit) }
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
}
