//! Why a program could not do its work: words for people, an `error` line for machines, and an exit code.

use std::fmt;
use std::io::Write;
use std::process::ExitCode;

use serde_json::{Map, Value, json};

/// A failure and what to do about it.
#[derive(Debug)]
pub struct Failure {
    /// The reason.
    pub reason: String,
    /// The next thing to do, where that is known.
    pub hint: Option<String>,
    /// 1; 2 for wrong usage or input; 3 where the machine cannot do it.
    pub exit_code: u8,
    /// The place of the failure: more members of the `error` line.
    pub place: Map<String, Value>,
}

impl Failure {
    /// The work itself failed.
    pub fn new(reason: impl Into<String>) -> Self {
        Self { reason: reason.into(), hint: None, exit_code: 1, place: Map::new() }
    }

    /// Wrong usage, or input that cannot be used.
    pub fn usage(reason: impl Into<String>) -> Self {
        Self { exit_code: 2, ..Self::new(reason) }
    }

    /// This machine cannot do it.
    pub fn machine(reason: impl Into<String>) -> Self {
        Self { exit_code: 3, ..Self::new(reason) }
    }

    /// Returns the failure with what to do about it.
    #[must_use]
    pub fn hint(self, hint: impl Into<String>) -> Self {
        Self { hint: Some(hint.into()), ..self }
    }

    /// Returns the failure with where it went wrong.
    #[must_use]
    pub fn at(self, place: Map<String, Value>) -> Self {
        Self { place, ..self }
    }

    /// Returns the `error` line.
    #[must_use]
    pub fn to_json(&self) -> Value {
        let mut line = json!({"event": "error", "reason": self.reason, "hint": self.hint});
        for (key, value) in &self.place {
            line[key] = value.clone();
        }
        line
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

/// Ends a program: reports a failure to people on standard error and to machines on standard output.
#[must_use]
pub fn end(program: &str, done: Result<(), Failure>) -> ExitCode {
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            eprintln!("{program}: {failure}");
            // Nobody may be left to read it; the exit code still shows the failure.
            let _ = print_line(&failure.to_json());
            ExitCode::from(failure.exit_code)
        }
    }
}

/// Writes one line to standard output at once.
pub fn print_line(line: &Value) -> Result<(), Failure> {
    let mut out = std::io::stdout().lock();
    writeln!(out, "{line}")
        .and_then(|()| out.flush())
        .map_err(|error| Failure::new(format!("standard output cannot be written: {error}")))
}
