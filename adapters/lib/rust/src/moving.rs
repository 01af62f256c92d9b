//! When a client is to continue from its second address, and the line that says that it does.

use std::net::{IpAddr, SocketAddr};
use std::time::Duration;

use serde::Serialize;

use crate::failure::Failure;
use crate::knobs::Knobs;

const BOUNDS_S: std::ops::RangeInclusive<f64> = 0.01..=3600.0;

/// The knobs of a client that moves.
#[derive(Clone, Copy, Debug, Default)]
pub struct Moves {
    /// After so much of the load.
    pub at: Option<Duration>,
    /// When nothing of an answer has come for so long.
    pub after_silence: Option<Duration>,
}

impl Moves {
    /// Take them from a client's knobs.
    pub fn new(knobs: &mut Knobs) -> Result<Self, Failure> {
        let at = knobs.seconds("move_at", BOUNDS_S)?;
        Ok(Self { at, after_silence: knobs.seconds("move_after_silence", BOUNDS_S)? })
    }

    /// Return the address to move to; None where nothing moves, a failure where the job has no such address.
    pub fn to(self, second: Option<IpAddr>) -> Result<Option<IpAddr>, Failure> {
        if self.at.is_none() && self.after_silence.is_none() {
            return Ok(None);
        }
        second.map(Some).ok_or_else(|| Failure::Usage("job: moving needs a second_address".into()))
    }
}

/// A QUIC connection continues from another address.
#[derive(Serialize)]
pub struct MoveLine {
    event: &'static str,
    from: SocketAddr,
    to: SocketAddr,
    t_start_ns: u64,
    t_end_ns: Option<u64>,
}

impl MoveLine {
    /// Describe a move that was begun at `t_start_ns`; `t_end_ns` is when the path was validated, if that is known.
    pub fn new(from: SocketAddr, to: SocketAddr, t_start_ns: u64, t_end_ns: Option<u64>) -> Self {
        Self { event: "move", from, to, t_start_ns, t_end_ns }
    }
}
