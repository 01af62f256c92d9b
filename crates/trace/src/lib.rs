//! Traces of endpoints → events.

pub mod cli;
