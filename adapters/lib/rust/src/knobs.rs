//! Settings by name: each is taken by the code that obeys it; a setting that nobody takes is not supported.

use std::collections::BTreeMap;
use std::fmt::Display;
use std::ops::RangeInclusive;
use std::str::FromStr;
use std::time::Duration;

use crate::failure::Failure;

/// The settings that were not taken yet, as texts.
#[derive(Clone, Debug, Default)]
pub struct Knobs(BTreeMap<String, String>);

impl Knobs {
    /// Collect all settings of a run.
    pub fn new(values: BTreeMap<String, String>) -> Self {
        Self(values)
    }

    /// Take a whole number within bounds; None where it is not set.
    pub fn count(&mut self, name: &str, bounds: RangeInclusive<u64>) -> Result<Option<u64>, Failure> {
        self.number(name, &bounds)
    }

    /// Take a number within bounds; None where it is not set.
    pub fn ratio(&mut self, name: &str, bounds: RangeInclusive<f64>) -> Result<Option<f64>, Failure> {
        self.number(name, &bounds)
    }

    /// Take a time in seconds, within bounds in seconds; None where it is not set.
    pub fn seconds(&mut self, name: &str, bounds: RangeInclusive<f64>) -> Result<Option<Duration>, Failure> {
        Ok(self.number(name, &bounds)?.map(Duration::from_secs_f64))
    }

    /// Take `true` or `false`; None where it is not set.
    pub fn flag(&mut self, name: &str) -> Result<Option<bool>, Failure> {
        let Some(text) = self.0.remove(name) else { return Ok(None) };
        text.parse().map(Some).map_err(|_| wrong(name, &text, "neither true nor false"))
    }

    /// Take one of a few names, and return the value that it stands for; None where it is not set.
    pub fn choice<T: Clone>(&mut self, name: &str, choices: &[(&str, T)]) -> Result<Option<T>, Failure> {
        let Some(text) = self.0.remove(name) else { return Ok(None) };
        match choices.iter().find(|(known, _)| *known == text) {
            Some((_, value)) => Ok(Some(value.clone())),
            None => {
                let known: Vec<&str> = choices.iter().map(|(known, _)| *known).collect();
                Err(wrong(name, &text, &format!("not one of {}", known.join(", "))))
            }
        }
    }

    /// Fail if a setting is left that nobody took.
    pub fn finish(self, protocol: &str) -> Result<(), Failure> {
        match self.0.keys().next() {
            None => Ok(()),
            Some(name) => {
                Err(Failure::Unsupported(format!("knob {name:?} is unknown here, or means nothing with {protocol}")))
            }
        }
    }

    fn number<T>(&mut self, name: &str, bounds: &RangeInclusive<T>) -> Result<Option<T>, Failure>
    where
        T: FromStr + PartialOrd + Display,
    {
        let Some(text) = self.0.remove(name) else { return Ok(None) };
        match text.parse() {
            Ok(value) if bounds.contains(&value) => Ok(Some(value)),
            _ => Err(wrong(name, &text, &format!("not between {} and {}", bounds.start(), bounds.end()))),
        }
    }
}

fn wrong(name: &str, text: &str, reason: &str) -> Failure {
    Failure::Usage(format!("knob {name}={text}: {reason}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn knobs(name: &str, value: &str) -> Knobs {
        Knobs::new(BTreeMap::from([(name.into(), value.into())]))
    }

    #[test]
    fn values_within_bounds_are_taken() {
        assert_eq!(knobs("n", "7").count("n", 1..=7).unwrap(), Some(7));
        assert_eq!(knobs("n", "7").count("m", 1..=7).unwrap(), None);
        assert_eq!(knobs("t", "0.25").seconds("t", 0.0..=1.0).unwrap(), Some(Duration::from_millis(250)));
        assert_eq!(knobs("b", "false").flag("b").unwrap(), Some(false));
        assert_eq!(knobs("c", "x").choice("c", &[("x", 1), ("y", 2)]).unwrap(), Some(1));
    }

    #[test]
    fn values_out_of_range_are_bad_usage() {
        for failure in [
            knobs("n", "8").count("n", 1..=7).unwrap_err(),
            knobs("n", "1.5").count("n", 1..=7).unwrap_err(),
            knobs("n", "NaN").ratio("n", 0.0..=1.0).unwrap_err(),
            knobs("n", "yes").flag("n").unwrap_err(),
            knobs("n", "z").choice("n", &[("x", 1)]).unwrap_err(),
        ] {
            assert_eq!(failure.exit_code(), 2);
        }
    }

    #[test]
    fn settings_that_are_left_are_unsupported() {
        assert_eq!(knobs("n", "8").finish("h2").unwrap_err().exit_code(), 127);
        assert!(Knobs::default().finish("h2").is_ok());
    }
}
