//! Traces of endpoints → events.

pub mod account;
pub mod batch;
pub mod capture;
pub mod cli;
pub mod decimal;
pub mod decode;
pub mod event;
pub mod external_sort;
pub mod input;
mod interner;
pub mod json;
pub mod netlog;
pub mod packing;
pub mod plausible;
pub mod qlog;
pub mod rfc3339;
pub mod rows;
pub mod sent;
pub mod tcp;
pub mod values;
pub mod walk;
pub mod writer;
