//! Parts of error messages: what was written, cut to a readable length, and what was probably meant.

use std::fmt;

use serde_json::Value;

/// A problem of one stage of a configuration.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Problem {
    /// The parameter that is wrong, as the configuration spells it; `None` for the stage as a whole.
    pub parameter: Option<String>,
    /// The problem and what is allowed.
    pub reason: String,
}

impl Problem {
    /// A problem with a parameter; `reason` names it.
    pub fn with(parameter: &str, reason: impl Into<String>) -> Self {
        Self { parameter: Some(parameter.to_owned()), reason: reason.into() }
    }

    /// A problem with the stage as a whole.
    pub fn of_stage(reason: impl Into<String>) -> Self {
        Self { parameter: None, reason: reason.into() }
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.reason)
    }
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
