//! The emulated path as a pure function: what happens to a packet is decided when it arrives.
//!
//! Time is given by the caller in nanoseconds of any clock that never goes back; nothing here reads a clock, opens a
//! file or touches the network. One [`Direction`] is a list of [`stages`], met in the order of the configuration.
//! `docs/link.md` states the law of each stage and what it does not claim.

#![forbid(unsafe_code)]

mod config;
mod direction;
mod inside;
mod parameters;
pub mod stages;
mod stream;

pub use config::{Config, ConfigError, DirectionName, StageConfig};
pub use direction::{Direction, Fate, Verdict};
pub use inside::Inside;
pub use parameters::{Bounds, ParameterSpec, Values};
pub use stream::Stream;

/// The stages this emulator knows, with the parameters, units and bounds of each, as JSON.
#[must_use]
pub fn describe() -> serde_json::Value {
    serde_json::json!({
        "version": config::VERSION,
        "stages": stages::ALL.iter().map(|spec| serde_json::json!({
            "kind": spec.kind,
            "law": spec.law,
            "parameters": spec.parameters.iter().map(ParameterSpec::describe).collect::<Vec<_>>(),
            "drop_reasons": spec.drop_reason.iter().collect::<Vec<_>>(),
        })).collect::<Vec<_>>(),
    })
}
