//! One path of one connection: its packets, acknowledgements and round trips, compared with each other.

use crate::event::{Event, Kind, Source, Space};
use crate::plausible::round_trips::{Comparison, FACTOR, Misread};

/// An acknowledgement and the metrics that follow from it are logged within this time.
const SAME_MOMENT_NS: u64 = 1_000_000;
/// Without acknowledgements in the trace, so many round trips are needed.
const LEAST_BOUNDED: u32 = 3;
/// Packets under way whose times are kept: a power of two.
const MOST_AWAITED: usize = 16;
/// Packets from which on it is odd that none of them was acknowledged.
const MANY_PACKETS: u64 = 10;
/// One packet in so many may have the number of an earlier one.
const SENT_TWICE_SHARE: u64 = 100;

/// What is known of one path of one connection.
#[derive(Default)]
#[allow(missing_docs, reason = "the names are enough")]
pub struct Path {
    /// The connection, and its path.
    pub of: (u32, Option<i64>),
    pub sent: u64,
    pub sent_bytes: i64,
    /// Packets with the number of an earlier one.
    pub sent_again: u64,
    pub acked: u64,
    pub acked_bytes: i64,
    /// ACK frames that arrived, and those that name packets after the last one that was sent.
    pub acks: u64,
    pub acks_beyond: u64,
    pub lost: u64,
    first_sent_ns: Option<i64>,
    last_sent_ns: Option<i64>,
    /// The arrival of the last packet, and the time since the packet that was sent before it.
    arrived: Option<(i64, i64)>,
    /// Packets whose acknowledgement is awaited, a sample of those under way: space, number and time.
    awaited: Vec<(Option<Space>, i64, i64)>,
    /// When one of them was acknowledged, as the last packet of its acknowledgement, and how long that took.
    answered: Option<(i64, i64)>,
    rtt_ns: Option<i64>,
    /// A new round trip, until it is compared: when it was logged, and how long it is. One for each comparison.
    fresh: [Option<(i64, i64)>; 2],
    by_acks: Comparison,
    by_bounds: Comparison,
}

impl Path {
    /// Of which nothing is known yet.
    #[must_use]
    pub fn new(of: (u32, Option<i64>)) -> Self {
        Self { of, ..Self::default() }
    }

    /// Takes a row.
    pub fn see(&mut self, event: &Event) {
        if event.kind == Kind::PacketAcked {
            return self.acked(event);
        }
        self.compare();
        match event.kind {
            Kind::PacketSent => self.sent(event),
            Kind::PacketReceived => {
                self.answered = None;
                self.arrived = self.last_sent_ns.map(|sent_ns| (event.time_ns, event.time_ns.saturating_sub(sent_ns)));
            }
            Kind::PacketLost => {
                let count = event.value.filter(|_| event.packet_number.is_none()).unwrap_or(1.0);
                self.lost = self.lost.saturating_add(count.max(0.0) as u64);
            }
            Kind::Metrics if event.source == Source::Qlog => {
                self.round_trip(event);
                self.compare();
            }
            _ => {}
        }
    }

    fn sent(&mut self, event: &Event) {
        self.sent += 1;
        self.sent_bytes = self.sent_bytes.saturating_add(event.size_bytes.unwrap_or(0));
        self.first_sent_ns = self.first_sent_ns.or(Some(event.time_ns));
        self.last_sent_ns = Some(event.time_ns);
        let Some(number) = event.packet_number else { return };
        let awaited = (event.space, number, event.time_ns);
        if self.awaited.len() < MOST_AWAITED {
            self.awaited.push(awaited);
        } else {
            // Any of them, so that the sample is of all packets under way, and lost ones do not stay.
            let place = self.sent.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> (u64::BITS - MOST_AWAITED.ilog2());
            self.awaited[place as usize] = awaited;
        }
    }

    /// Rows of one acknowledgement come in ascending order: its last one gives a round trip (RFC 9002, 5.1).
    fn acked(&mut self, event: &Event) {
        self.acked += 1;
        self.acked_bytes = self.acked_bytes.saturating_add(event.size_bytes.unwrap_or(0));
        self.answered = None;
        let is_it = |(space, number, _): &(Option<Space>, i64, i64)| {
            Some(*number) == event.packet_number && *space == event.space
        };
        if let Some(place) = self.awaited.iter().position(is_it) {
            let (.., sent_ns) = self.awaited.swap_remove(place);
            self.answered = Some((event.time_ns, event.time_ns.saturating_sub(sent_ns)));
        }
    }

    fn round_trip(&mut self, event: &Event) {
        let Some(rtt_ns) = event.latest_rtt_ns.or(event.srtt_ns) else { return };
        if self.rtt_ns.replace(rtt_ns) != Some(rtt_ns) && rtt_ns >= 0 {
            self.fresh = [Some((event.time_ns, rtt_ns)); 2];
        }
    }

    /// Compares a new round trip with the acknowledgement and the arrival that it follows from, which some log before it
    /// and some behind it.
    fn compare(&mut self) {
        let is_now = |time_ns: i64, other_ns: i64| time_ns.abs_diff(other_ns) <= SAME_MOMENT_NS;
        if let (Some((logged_ns, rtt_ns)), Some((acked_ns, send_to_ack_ns))) = (self.fresh[0], self.answered) {
            if is_now(logged_ns, acked_ns) && send_to_ack_ns >= 0 {
                self.by_acks.with_send_to_ack(rtt_ns, send_to_ack_ns);
                (self.fresh[0], self.answered) = (None, None);
            }
        }
        if let (Some((logged_ns, rtt_ns)), Some((arrived_ns, least_ns))) = (self.fresh[1], self.arrived) {
            let most_ns = self.first_sent_ns.map_or(-1, |first_ns| arrived_ns.saturating_sub(first_ns));
            if is_now(logged_ns, arrived_ns) && least_ns >= 0 && most_ns >= 0 {
                self.by_bounds.with_bounds(rtt_ns, least_ns, most_ns);
                self.fresh[1] = None;
            }
        }
    }

    /// What is wrong with the round trips, and whether they would be right in the next unit.
    #[must_use]
    pub fn misread(&self) -> Option<(Misread, bool)> {
        if self.by_acks.compared > 0 { self.by_acks.misread(1) } else { self.by_bounds.misread(LEAST_BOUNDED) }
    }

    /// What does not agree: the name of the check, and the problem in words.
    #[must_use]
    pub fn contradictions(&self) -> Vec<(&'static str, String)> {
        let mut found = Vec::new();
        if let Some((misread, _)) = self.misread() {
            found.push(self.misread_words(misread));
        }
        if self.sent >= MANY_PACKETS && self.acked == 0 && self.acks > 0 {
            found.push((
                "acked_none",
                format!(
                    "{} packets were sent and {} ACK frames arrived, but none acknowledges one of them",
                    self.sent, self.acks
                ),
            ));
        }
        if self.acks_beyond > 0 {
            found.push((
                "acked_unsent",
                format!(
                    "{} of {} ACK frames name packets that the trace does not show as sent",
                    self.acks_beyond, self.acks
                ),
            ));
        }
        if self.sent_again > 0 && self.sent_again.saturating_mul(SENT_TWICE_SHARE) > self.sent {
            let (again, sent) = (self.sent_again, self.sent);
            found.push((
                "sent_twice",
                format!("{again} of {sent} packets have the number of an earlier one: several paths or connections are mixed"),
            ));
        }
        found
    }

    fn misread_words(&self, misread: Misread) -> (&'static str, String) {
        let by_acks = self.by_acks.compared > 0;
        let comparison = if by_acks { &self.by_acks } else { &self.by_bounds };
        let (rtt_ns, other_ns) = comparison.example.unwrap_or_default();
        let (odd, compared) = (comparison.too_short.max(comparison.too_long), comparison.compared);
        let (check, than, other) = match (misread, by_acks) {
            (Misread::TooShort, true) => ("rtt_below_send_to_ack", "shorter", "from its packet to the acknowledgement"),
            (Misread::TooLong, true) => ("rtt_above_send_to_ack", "longer", "from its packet to the acknowledgement"),
            (Misread::TooShort, false) => {
                ("rtt_below_packet_times", "shorter", "from the last packet to the next arrival")
            }
            (Misread::TooLong, false) => ("rtt_above_trace", "longer", "since the first packet"),
        };
        let problem = format!(
            "{odd} of {compared} round trips are over {FACTOR} times {than} than the trace's own times, first {} against {} \
             {other}: their unit is not what it was read as",
            milliseconds(rtt_ns),
            milliseconds(other_ns),
        );
        (check, problem)
    }
}

fn milliseconds(time_ns: i64) -> String {
    format!("{} ms", time_ns as f64 / 1e6)
}
