//! What `adapters/CONTRACT.md` asks of every program, for those written in Rust: jobs, options, knobs, lines, files.

pub mod clock;
pub mod failure;
pub mod files;
pub mod job;
pub mod knobs;
pub mod lines;
pub mod load;
pub mod objects;
pub mod options;
pub mod program;
pub mod qlog;
pub mod socket;
pub mod wait;
