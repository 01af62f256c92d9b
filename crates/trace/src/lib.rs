//! Traces of endpoints → events.

pub mod account;
pub mod batch;
pub mod cli;
pub mod decimal;
pub mod decode;
pub mod event;
pub mod input;
pub mod json;
pub mod qlog;
pub mod rfc3339;
pub mod spill;
pub mod tcp;
pub mod texts;
pub mod values;
pub mod walk;
pub mod writer;
