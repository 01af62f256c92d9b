//! Why the router could not do its work, in words and as the `error` line.

use std::fmt;

/// A failure with what to do about it.
#[derive(Debug)]
pub struct Failure {
    /// What went wrong.
    pub reason: String,
    /// What to do next, where that is known.
    pub hint: Option<String>,
    /// 1, or 2 for wrong usage or configuration.
    pub exit_code: u8,
}

impl Failure {
    pub fn new(reason: impl Into<String>) -> Self {
        Self { reason: reason.into(), hint: None, exit_code: 1 }
    }

    pub fn usage(reason: impl Into<String>) -> Self {
        Self { exit_code: 2, ..Self::new(reason) }
    }

    pub fn hint(self, hint: impl Into<String>) -> Self {
        Self { hint: Some(hint.into()), ..self }
    }

    pub fn to_json(&self) -> serde_json::Value {
        serde_json::json!({"event": "error", "reason": self.reason, "hint": self.hint})
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.reason)?;
        match &self.hint {
            Some(hint) => write!(formatter, "\n{hint}"),
            None => Ok(()),
        }
    }
}
