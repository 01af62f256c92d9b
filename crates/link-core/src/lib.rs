//! The emulated path as a pure function: what happens to a packet is decided when it arrives.
//!
//! Time is given by the caller in nanoseconds of any clock that never goes back; nothing here reads a clock, opens a
//! file or touches the network. One [`Direction`] is a list of [`stages`], met in the order of the configuration.
//! `docs/link.md` states the law of each stage and what it does not claim.

#![forbid(unsafe_code)]

mod bottleneck;
mod codel;
mod config;
mod direction;
pub mod distribution;
mod inside;
mod nat;
mod packet;
mod parameters;
mod protocol;
mod schedule;
mod schema;
pub mod stages;
mod stream;
mod transmitter;
mod varying;

pub use config::{Config, ConfigError, DirectionName, StageConfig};
pub use direction::Direction;
pub use inside::Inside;
pub use nat::NatTimes;
pub use packet::{Edits, Event, Fate, PacketInfo, Transport, Verdict};
pub use parameters::{Bounds, Fallback, ParameterSpec, Values, Varies};
pub use schedule::Schedule;
pub use schema::describe;
pub use stream::Stream;
pub use transmitter::{Sent, Transmitter};
pub use varying::{Piece, Varying};
