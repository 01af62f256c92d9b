//! What `adapters/CONTRACT.md` requires of every program, for those written in Rust.
//!
//! `program` is the command line; `job`, `options` and `knobs` are what it brings; `lines` and `objects` are what a
//! program prints. Servers answer from `files`. A client over a library without a runtime of its own implements
//! `transport` and leaves the rest to `client`.

pub mod client;
pub mod clock;
pub mod ending;
pub mod failure;
pub mod fetching;
pub mod files;
pub mod head;
pub mod job;
pub mod knobs;
pub mod lines;
pub mod load;
pub mod logs;
pub mod moving;
pub mod objects;
pub mod options;
pub mod program;
pub mod response;
pub mod socket;
pub mod transport;
pub mod wait;
