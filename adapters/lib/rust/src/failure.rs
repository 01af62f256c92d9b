//! Why a program ends, and the exit code for it.

use std::fmt::{self, Display, Formatter};

/// The reason why a program fails.
#[derive(Debug, PartialEq, Eq)]
pub enum Failure {
    /// The caller's mistake.
    Usage(String),
    /// A request that this stack cannot meet.
    Unsupported(String),
    /// Anything else, to be reported.
    Failed(String),
    /// Some objects did not arrive; their lines say which.
    Reported,
}

impl Display for Failure {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            Self::Usage(reason) | Self::Unsupported(reason) | Self::Failed(reason) => f.write_str(reason),
            Self::Reported => f.write_str("some objects did not arrive"),
        }
    }
}

impl Failure {
    /// A failure of the machine or the network, with the attempt that failed.
    pub fn of(tried: impl Display, error: impl Display) -> Self {
        Self::Failed(format!("{tried}: {error}"))
    }

    /// Return the exit code of the contract.
    pub fn exit_code(&self) -> u8 {
        match self {
            Self::Usage(_) => 2,
            Self::Unsupported(_) => 127,
            Self::Failed(_) | Self::Reported => 1,
        }
    }
}
