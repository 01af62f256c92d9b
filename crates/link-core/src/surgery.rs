//! What is to be done with single packets, whatever the stages would do with them.

use crate::ranges::{Range, containing};
use crate::values::Values;

/// The kind of the stage that lists the operations of a direction.
pub(crate) const KIND: &str = "surgery";
/// Its lists.
pub(crate) const FORGIVE: &str = "forgive";
pub(crate) const DROP: &str = "drop";
pub(crate) const HOLD: &str = "hold";

/// The operations on one packet.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Operation {
    /// No stage drops or corrupts it.
    pub forgive: bool,
    /// It is dropped.
    pub drop: bool,
    /// It leaves so much later.
    pub hold_ns: u64,
}

/// The operations of one direction.
#[derive(Debug, Clone, Default)]
pub(crate) struct Operations {
    forgive: Vec<Range>,
    drop: Vec<Range>,
    hold: Vec<Range>,
}

impl Operations {
    /// Reads the parameters of a stage `surgery`.
    pub fn of(values: &Values) -> Self {
        let [forgive, drop, hold] = [FORGIVE, DROP, HOLD].map(|name| values.ranges(name).to_vec());
        Self { forgive, drop, hold }
    }

    /// The operations on the packet of that number in its direction.
    pub fn on(&self, number: u64) -> Operation {
        Operation {
            forgive: containing(&self.forgive, number).is_some(),
            drop: containing(&self.drop, number).is_some(),
            hold_ns: containing(&self.hold, number).map_or(0, |range| range.value),
        }
    }

    /// How many packets they name; one that two operations name counts twice.
    pub fn packets(&self) -> u64 {
        let all = self.forgive.iter().chain(&self.drop).chain(&self.hold);
        all.map(Range::packets).fold(0, u64::saturating_add)
    }
}
