//! Rules of middleboxes that look at what a packet carries.

use crate::packet::Transport;
use crate::parameters::{Bounds, ParameterSpec};
use crate::values::Values;

/// The parameter that chooses the packets of such a stage.
pub(crate) const PROTOCOL: ParameterSpec =
    ParameterSpec::new("protocol", "", Bounds::Choice(&["udp", "tcp", "icmp", "any"]), "which packets the rule is for");

/// Which packets a rule is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Protocol {
    /// Packets that carry this.
    Only(Transport),
    /// Every packet, also one that could not be read.
    Any,
}

impl Protocol {
    /// Reads [`PROTOCOL`].
    pub(crate) fn of(values: &Values) -> Self {
        match values.text(PROTOCOL.name) {
            "udp" => Self::Only(Transport::Udp),
            "tcp" => Self::Only(Transport::Tcp),
            "icmp" => Self::Only(Transport::Icmp),
            _ => Self::Any,
        }
    }

    pub(crate) fn includes(self, transport: Transport) -> bool {
        match self {
            Self::Only(one) => one == transport,
            Self::Any => true,
        }
    }
}
