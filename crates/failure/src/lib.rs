//! Why a program could not do its work: in words for people, as an `error` line for machines, and as its exit code.

use std::fmt;
use std::io::Write;
use std::process::ExitCode;

/// A failure with what to do about it.
#[derive(Debug)]
pub struct Failure {
    /// What went wrong.
    pub reason: String,
    /// What to do next, where that is known.
    pub hint: Option<String>,
    /// 1; 2 for wrong usage or input; 3 where the machine cannot do it.
    pub exit_code: u8,
}

impl Failure {
    /// The work itself failed.
    pub fn new(reason: impl Into<String>) -> Self {
        Self { reason: reason.into(), hint: None, exit_code: 1 }
    }

    /// Wrong usage, or input that cannot be used.
    pub fn usage(reason: impl Into<String>) -> Self {
        Self { exit_code: 2, ..Self::new(reason) }
    }

    /// This machine cannot do it.
    pub fn machine(reason: impl Into<String>) -> Self {
        Self { exit_code: 3, ..Self::new(reason) }
    }

    /// The same with what to do about it.
    #[must_use]
    pub fn hint(self, hint: impl Into<String>) -> Self {
        Self { hint: Some(hint.into()), ..self }
    }

    /// The `error` line.
    #[must_use]
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

/// Ends a program: a failure is said to people on standard error and to machines on standard output.
#[must_use]
pub fn end(program: &str, done: Result<(), Failure>) -> ExitCode {
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            eprintln!("{program}: {failure}");
            // Nobody may be left to read it; the exit code still tells.
            let _ = say(&failure.to_json());
            ExitCode::from(failure.exit_code)
        }
    }
}

/// Writes one line to standard output at once.
pub fn say(line: &serde_json::Value) -> Result<(), Failure> {
    let mut out = std::io::stdout().lock();
    writeln!(out, "{line}")
        .and_then(|()| out.flush())
        .map_err(|error| Failure::new(format!("standard output cannot be written: {error}")))
}
