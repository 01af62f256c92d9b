//! The emulated path as a pure function: the fate of a packet is decided when it arrives.
//!
//! The caller gives the time, in nanoseconds of any clock that never goes back. Nothing here reads a clock, opens a
//! file or touches the network. A [`Direction`] is a list of [`stages`], which a packet meets in the order of the
//! configuration. `docs/reference/link.md` defines each stage and lists its limits.
//!
//! # The modules, bottom up
//!
//! Each module uses only modules above it in this list; `tests/unit/test_crate_modules.py` checks that.
//!
//! - `packet`: a packet as it arrives, and what is decided about it
//! - `messages`: parts of error messages
//! - `ranges`: lists of ranges of packets
//! - `parameters`: how a stage declares its parameters
//! - `schedule`: how a configuration describes a parameter that changes with time
//! - `values`: the checked parameters of one stage
//! - `distribution`: quantile functions
//! - `stream`: random numbers, one stream for each stage
//! - `varying`: the value of a changing parameter at a moment
//! - `protocol`: which packets a middlebox acts on
//! - `nat_times`: when a NAT changes its ports
//! - `surgery`: what is to be done with single packets
//! - `stage`: the vocabulary of stages
//! - `size_condition`: impairments of large packets alone
//! - `queue`: what bottlenecks share: limits, transmitter, `CoDel`
//! - `stages`: the stages, one file each
//! - `direction`: the stages of one direction at work
//! - `config`: JSON in, checked stages out
//! - `schema`: the JSON schema of a configuration
//! - `in_flight`: packets that wait for their departure; for callers
//!
//! To add a stage, write `stages/KIND.rs` and name it in `stages/mod.rs`; `stage` has everything that it needs.

#![forbid(unsafe_code)]

mod config;
mod direction;
pub mod distribution;
mod in_flight;
mod messages;
mod nat_times;
mod packet;
mod parameters;
mod protocol;
mod queue;
mod ranges;
mod schedule;
mod schema;
mod size_condition;
pub mod stage;
pub mod stages;
mod stream;
mod surgery;
mod values;
mod varying;

pub use config::{Config, ConfigError};
pub use direction::Direction;
pub use in_flight::InFlight;
pub use messages::Problem;
pub use nat_times::{NatTimes, Rebindings};
pub use packet::{DirectionName, Edits, Event, Fate, Operated, PacketInfo, Transport, Verdict};
pub use parameters::{Bounds, Fallback, ParameterSpec, Varies};
pub use queue::transmitter::{Sent, Transmitter};
pub use ranges::Range;
pub use schedule::Schedule;
pub use schema::describe;
pub use stage::StageConfig;
pub use stream::Stream;
pub use surgery::Operation;
pub use values::Values;
pub use varying::{Piece, Varying};
