//! Packets that the end of the capture sent in one number space: in flight, acknowledged, their data sent again.

use std::collections::BTreeMap;

use crate::capture::rows::{Figures, Now, RoundTrips, Sized};
use crate::event::{Kind, Space};
use crate::writer::Halt;

/// Packets that are remembered: a capture without acknowledgements would fill the memory.
const MOST_FLYING: usize = 1 << 18;
const MOST_LOST: usize = 1 << 12;
const LONGEST_PART: i64 = 1 << 16;

/// Data of a stream in a packet; CRYPTO's stream is -1.
pub type Part = (i64, i64, i64);

struct Flying {
    time_ns: i64,
    packet: Sized,
    parts: Vec<Part>,
}

/// The packets of one space.
#[derive(Default)]
pub struct Flight {
    flying: BTreeMap<i64, Flying>,
    lost: BTreeMap<i64, Flying>,
    /// By stream and offset: length, and the newest packet that carries it.
    parts: BTreeMap<(i64, i64), (i64, i64)>,
    flying_bytes: i64,
    last_ns: i64,
    pub acked_bytes: i64,
    timeouts: i64,
}

impl Flight {
    /// A packet with these parts leaves.
    pub fn send(
        &mut self,
        packet: Sized,
        parts: Vec<Part>,
        round_trips: &RoundTrips,
        now: &mut Now,
    ) -> Result<(), Halt> {
        let Some(number) = packet.number else { return Ok(()) };
        let quiet_ns = now.time_ns - self.last_ns;
        let is_probe = round_trips.smoothed_ns > 0 && quiet_ns > round_trips.smoothed_ns + round_trips.smoothed_ns / 4;
        let mut repeated: Vec<i64> = Vec::new();
        for (stream, offset, bytes) in &parts {
            let from = (*stream, offset.saturating_sub(LONGEST_PART));
            let overlap = self.parts.range(from..(*stream, offset + (*bytes).max(1)));
            repeated
                .extend(overlap.filter(|((_, start), (length, _))| start + length > *offset).map(|(_, (_, own))| *own));
        }
        repeated.sort_unstable();
        repeated.dedup();
        if is_probe && !repeated.is_empty() {
            // A probe (RFC 9002, 6.2.4) sends data again that does not count as lost yet.
            self.timeouts += 1;
            now.named(Kind::Pto, "pto", None, Some(self.timeouts as f64))?;
        } else {
            for number in repeated {
                let Some(lost) = self.take(number) else { continue };
                now.packet(Kind::PacketLost, lost.packet, Some("sent again"))?;
                self.lost.insert(number, lost);
            }
            while self.lost.len() > MOST_LOST {
                self.lost.pop_first();
            }
        }
        for (stream, offset, bytes) in &parts {
            self.parts.insert((*stream, *offset), (*bytes, number));
        }
        self.flying_bytes += packet.bytes;
        self.flying.insert(number, Flying { time_ns: now.time_ns, packet, parts });
        self.last_ns = now.time_ns;
        if self.flying.len() > MOST_FLYING {
            let oldest = self.flying.keys().next().copied();
            oldest.and_then(|number| self.take(number));
        }
        Ok(())
    }

    fn take(&mut self, number: i64) -> Option<Flying> {
        let found = self.flying.remove(&number)?;
        self.flying_bytes -= found.packet.bytes;
        for (stream, offset, _) in &found.parts {
            if self.parts.get(&(*stream, *offset)).is_some_and(|(_, own)| *own == number) {
                self.parts.remove(&(*stream, *offset));
            }
        }
        Some(found)
    }

    /// The peer acknowledges ranges of numbers.
    pub fn acknowledge(
        &mut self,
        ranges: &[(i64, i64)],
        round_trips: &mut RoundTrips,
        now: &mut Now,
    ) -> Result<(), Halt> {
        let largest = ranges.first().map_or(-1, |(_, high)| *high);
        let mut newest = None;
        for (low, high) in ranges.iter().rev() {
            let late: Vec<i64> = self.lost.range(low..=high).map(|(number, _)| *number).collect();
            for number in late {
                let Some(late) = self.lost.remove(&number) else { continue };
                self.acked_bytes += late.packet.bytes;
                now.acked(late.packet, self.acked_bytes, true)?;
                now.packet(Kind::PacketSpurious, late.packet, Some("acknowledged"))?;
            }
            let numbers: Vec<i64> = self.flying.range(low..=high).map(|(number, _)| *number).collect();
            for number in numbers {
                let Some(acked) = self.take(number) else { continue };
                self.acked_bytes += acked.packet.bytes;
                now.acked(acked.packet, self.acked_bytes, true)?;
                newest = Some(acked);
            }
        }
        if let Some(newest) = newest {
            (self.timeouts, self.last_ns) = (0, now.time_ns);
            if newest.packet.number == Some(largest) {
                round_trips.learn((now.time_ns - newest.time_ns).max(1));
                let RoundTrips { latest_ns, smoothed_ns, least_ns } = *round_trips;
                now.figures(Figures { latest_ns, smoothed_ns, least_ns, in_flight_bytes: self.flying_bytes })?;
            }
        }
        Ok(())
    }
}

/// The space in which packets are numbered.
pub fn numbering(space: Space) -> Option<usize> {
    match space {
        Space::Initial => Some(0),
        Space::Handshake => Some(1),
        Space::ZeroRtt | Space::OneRtt => Some(2),
        Space::Retry | Space::VersionNegotiation => None,
    }
}
