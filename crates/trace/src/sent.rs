//! The packets that one end sent in one number space, and which of them the peer has acknowledged.

use std::collections::VecDeque;

/// Packets remembered; older ones are forgotten, so that memory stays bounded.
const MOST_PACKETS: usize = 1 << 22;
/// Holes between acknowledged ranges that are remembered.
const MOST_HOLES: usize = 1 << 16;
/// A packet number this far beyond the last one begins anew.
const LONGEST_GAP: i64 = 1 << 16;
const NOT_SENT: u32 = u32::MAX;
const SIZE_UNKNOWN: u32 = u32::MAX - 1;
const ZERO_RTT: u32 = 1 << 30;

/// A packet that was sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Packet {
    /// Its number.
    pub number: i64,
    /// Its size, if the trace has it.
    pub size_bytes: Option<i64>,
    /// Whether it was a 0-RTT packet.
    pub zero_rtt: bool,
}

/// The packets sent in one number space.
#[derive(Default)]
pub struct Sent {
    first: i64,
    packets: VecDeque<u32>,
    /// Acknowledged ranges, ascending, apart, both ends included.
    acked: Vec<(i64, i64)>,
}

impl Sent {
    /// Whether no packet is remembered.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.packets.is_empty()
    }

    /// The number after the highest one that was sent.
    #[must_use]
    pub fn next(&self) -> i64 {
        self.first.saturating_add(self.packets.len() as i64)
    }

    /// A packet was sent; whether one of this number had been sent before.
    pub fn send(&mut self, packet: Packet) -> bool {
        let Packet { number, size_bytes, zero_rtt } = packet;
        if !(0..1 << 62).contains(&number) {
            return false;
        }
        let size = size_bytes.and_then(|size| u32::try_from(size).ok()).filter(|size| *size < ZERO_RTT);
        let packet = match size {
            Some(size) => size | if zero_rtt { ZERO_RTT } else { 0 },
            None => SIZE_UNKNOWN,
        };
        let next = self.next();
        if self.packets.is_empty() || number.saturating_sub(next) > LONGEST_GAP {
            self.packets.clear();
            self.acked.clear();
            self.first = number;
        } else if number < next {
            if let Some(known) = usize::try_from(number - self.first).ok().and_then(|at| self.packets.get_mut(at)) {
                return std::mem::replace(known, packet) != NOT_SENT;
            }
            return false;
        } else {
            self.packets.extend(std::iter::repeat_n(NOT_SENT, (number - next) as usize));
        }
        self.packets.push_back(packet);
        if self.packets.len() > MOST_PACKETS {
            self.forget_before(self.first + (self.packets.len() - MOST_PACKETS) as i64);
        }
        false
    }

    fn forget_before(&mut self, number: i64) {
        let count = (number - self.first).clamp(0, self.packets.len() as i64);
        self.packets.drain(..count as usize);
        self.first += count;
    }

    /// Returns the sent packet.
    #[must_use]
    pub fn packet(&self, number: i64) -> Option<Packet> {
        let at = usize::try_from(number.checked_sub(self.first)?).ok()?;
        match *self.packets.get(at)? {
            NOT_SENT => None,
            SIZE_UNKNOWN => Some(Packet { number, size_bytes: None, zero_rtt: false }),
            packet => Some(Packet {
                number,
                size_bytes: Some(i64::from(packet & !ZERO_RTT)),
                zero_rtt: packet & ZERO_RTT != 0,
            }),
        }
    }

    /// The peer acknowledges the packets from `low` to `high`: gives each that it had not acknowledged before, ascending.
    pub fn acknowledge(&mut self, low: i64, high: i64, mut each: impl FnMut(Packet)) {
        let low = low.max(self.first);
        let high = high.min(self.first.saturating_add(self.packets.len() as i64 - 1));
        if low > high {
            return;
        }
        // Ranges from `from` to before `to` touch the new one, and become one with it.
        let from = self.acked.partition_point(|(_, end)| *end < low - 1);
        let to = from + self.acked[from..].partition_point(|(start, _)| *start <= high + 1);
        let mut next = low;
        for at in from..to {
            let (start, end) = self.acked[at];
            (next..start.min(high + 1)).filter_map(|number| self.packet(number)).for_each(&mut each);
            next = next.max(end + 1);
        }
        (next..=high).filter_map(|number| self.packet(number)).for_each(&mut each);
        let whole = match &self.acked[from..to] {
            [] => (low, high),
            [first, ..] => (low.min(first.0), high.max(self.acked[to - 1].1)),
        };
        if to == from + 1 {
            self.acked[from] = whole;
        } else {
            self.acked.splice(from..to, [whole]);
        }
        self.trim();
    }

    fn trim(&mut self) {
        if self.acked.len() > MOST_HOLES {
            self.acked.drain(..MOST_HOLES / 2);
            self.forget_before(self.acked[0].0);
        }
        if let [(start, end), ..] = self.acked[..] {
            if start <= self.first && end - self.first > 1 << 12 {
                // Keeps what was acknowledged of late: packets declared lost before are asked for their size.
                self.forget_before(end - (1 << 11));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn acked(sent: &mut Sent, low: i64, high: i64) -> Vec<i64> {
        let mut numbers = Vec::new();
        sent.acknowledge(low, high, |packet| numbers.push(packet.number));
        numbers
    }

    fn sent(numbers: impl IntoIterator<Item = i64>) -> Sent {
        let mut sent = Sent::default();
        for number in numbers {
            assert!(!sent.send(Packet { number, size_bytes: Some(1200), zero_rtt: false }));
        }
        sent
    }

    #[test]
    fn each_packet_is_acknowledged_once() {
        let mut sent = sent(0..10);
        assert_eq!(acked(&mut sent, 2, 3), [2, 3]);
        assert_eq!(acked(&mut sent, 6, 7), [6, 7]);
        assert_eq!(acked(&mut sent, 1, 8), [1, 4, 5, 8]);
        assert_eq!(acked(&mut sent, 0, 100), [0, 9]);
        assert_eq!(acked(&mut sent, 0, 9), [0i64; 0]);
    }

    #[test]
    fn only_what_was_sent_is_acknowledged() {
        let mut sent = sent([5, 8]);
        assert_eq!(acked(&mut sent, 0, i64::MAX), [5, 8]);
        assert_eq!(sent.packet(6), None);
        assert_eq!(acked(&mut sent, 9, 3), [0i64; 0]);
    }

    #[test]
    fn a_leap_begins_anew() {
        let mut sent = sent([0, 1 << 40, (1 << 40) + 1]);
        assert_eq!(acked(&mut sent, 0, i64::MAX), [1 << 40, (1 << 40) + 1]);
    }

    #[test]
    fn a_number_that_is_sent_twice_is_noticed() {
        let packet = |number| Packet { number, size_bytes: Some(1200), zero_rtt: false };
        let mut sent = sent([0, 3]);
        assert_eq!([0, 1, 3, 4].map(|number| sent.send(packet(number))), [true, false, true, false]);
        assert_eq!(sent.next(), 5);
    }

    #[test]
    fn long_connections_stay_small() {
        let mut sent = Sent::default();
        for number in 0..100_000 {
            sent.send(Packet { number, size_bytes: Some(1200), zero_rtt: number == 0 });
            assert_eq!(acked(&mut sent, 0, number).len(), 1);
        }
        assert!(sent.packets.len() < 10_000);
        assert_eq!(sent.acked.len(), 1);
    }
}
