//! Codepoints of explicit congestion notification on the way (RFC 3168, RFC 9331).
//!
//! `packet.info.ecn` is the codepoint that the packet has where it is: stages that change it change it there, so that
//! those behind see what a router would see, and note in `packet.edits` what is to be written.

use crate::stage::Transit;

const NOT_CAPABLE: u8 = 0;
const L4S: u8 = 1;
const EXPERIENCED: u8 = 3;

/// Whether a mark in its header can signal congestion (RFC 3168); other packets must be dropped for that.
pub(crate) fn can_be_marked(packet: &Transit) -> bool {
    packet.info.ecn != NOT_CAPABLE
}

/// Whether a dual queue takes it for L4S traffic (RFC 9331, section 5.1): ECT(1), and CE, which may have been that.
pub(crate) fn is_l4s(packet: &Transit) -> bool {
    packet.info.ecn & L4S != 0
}

/// Marks a packet; one that came with a mark needs no other.
pub(crate) fn mark(packet: &mut Transit) {
    if packet.info.ecn != EXPERIENCED {
        packet.edits.mark_ce = true;
        packet.edits.ecn = packet.edits.ecn.map(|_| EXPERIENCED);
        packet.info.ecn = EXPERIENCED;
    }
}

/// Writes another codepoint, as a middlebox does; nothing where the packet has it.
pub(crate) fn remark(packet: &mut Transit, ecn: u8) {
    if packet.info.ecn != ecn {
        packet.info.ecn = ecn;
        packet.edits.ecn = Some(ecn);
    }
}
