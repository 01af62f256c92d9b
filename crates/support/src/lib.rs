//! Code that the programs of the wheel share: readings of the machine's clocks, and how a failure is reported.

pub mod clock;
pub mod failure;
