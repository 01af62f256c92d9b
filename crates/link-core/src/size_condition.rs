//! Impairments that concern large packets alone, as a network has them that fragments or re-routes such packets.

use crate::parameters::{Bounds, Fallback, ParameterSpec};
use crate::stage::Transit;
use crate::values::Values;

pub(crate) const ABOVE_BYTES: ParameterSpec = ParameterSpec::new(
    "above_bytes",
    "byte",
    Bounds::Integer(0, 65_535),
    "largest IP packet that the stage does not concern; with 0 it concerns all",
)
.or(Fallback::Integer(0));

/// Whether a stage concerns a packet. A packet of another size takes its draw all the same, so that the draws of the
/// others do not depend on it.
#[derive(Clone, Copy)]
pub(crate) struct SizeCondition {
    above_bytes: u64,
}

impl SizeCondition {
    pub(crate) fn of(values: &Values) -> Self {
        Self { above_bytes: values.integer("above_bytes") }
    }

    pub(crate) fn holds(self, packet: &Transit) -> bool {
        u64::from(packet.info.size_bytes) > self.above_bytes
    }
}
