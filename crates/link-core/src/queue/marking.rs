//! Marks of explicit congestion notification (RFC 3168).

use crate::stage::Transit;

const NOT_CAPABLE: u8 = 0;
const EXPERIENCED: u8 = 3;

/// Whether a mark in its header can signal congestion (RFC 3168); other packets must be dropped for that.
pub(crate) fn can_be_marked(packet: &Transit) -> bool {
    packet.info.ecn != NOT_CAPABLE
}

/// Marks a packet; one that came with a mark needs no other.
pub(crate) fn mark(packet: &mut Transit) {
    packet.edits.mark_ce |= packet.info.ecn != EXPERIENCED;
}
