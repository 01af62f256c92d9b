//! The configuration of a link as it is read, and the `check` command.

use std::path::{Path, PathBuf};

use clap::Args;
use longlook_link_core::{Config, ConfigError};
use longlook_support::failure::{Failure, print_line};
use serde_json::{Map, Value, json};

#[derive(Args)]
pub struct Options {
    /// Configuration of the link, JSON (docs/reference/link-formats.md); standard input if it is not given
    #[arg(long)]
    config: Option<PathBuf>,
}

/// Reads and checks a configuration; prints `{"event": "accepted"}` if it can be run.
pub fn check(options: &Options) -> Result<(), Failure> {
    read(options.config.as_deref())?;
    print_line(&json!({"event": "accepted"}))
}

/// Reads a file, or standard input, and returns its configuration, checked and as it was written.
pub fn read(path: Option<&Path>) -> Result<(Config, Value), Failure> {
    let shown = path.map_or("standard input".to_owned(), |path| path.display().to_string());
    let text = path
        .map_or_else(|| std::io::read_to_string(std::io::stdin()), std::fs::read_to_string)
        .map_err(|error| Failure::usage(format!("the configuration {shown} cannot be read: {error}")))?;
    let config = Config::from_json(&text).map_err(|error| {
        Failure::usage(format!("{shown}: {error}"))
            .hint("`longlook-link describe` lists stages, parameters and units")
            .at(place(&error))
    })?;
    let raw = serde_json::from_str(&text).map_err(|error| Failure::usage(format!("{shown}: {error}")))?;
    Ok((config, raw))
}

fn place(error: &ConfigError) -> Map<String, Value> {
    let members = json!({
        "direction": error.direction.map(|direction| direction.to_string()),
        "stage": error.stage,
        "kind": error.kind,
        "parameter": error.problem.parameter,
        "problem": error.to_string(),
    });
    members.as_object().cloned().unwrap_or_default()
}
