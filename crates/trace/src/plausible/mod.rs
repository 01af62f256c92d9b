//! Whether what was read of a trace agrees with the rest of it: its round trips with the times of its packets and
//! acknowledgements, and what was acknowledged and lost with what was sent.
//!
//! Nothing is changed here. What fails becomes a [`Contradiction`] of the account.

mod path;
mod round_trips;

use std::collections::{BTreeMap, HashMap};

use self::path::Path;
pub use self::round_trips::Misread;
use crate::account::Contradiction;
use crate::event::{Event, Source};

/// Paths of connections that are checked; those beyond are not, which is reported.
const MOST_CHECKED: usize = 1 << 16;
const MOST_REPORTED: usize = 20;

/// Counts of a connection.
#[derive(Clone, Copy, Default)]
struct Sums {
    connection: u32,
    sent: u64,
    sent_bytes: i64,
    acked_bytes: i64,
    lost: u64,
}

impl Sums {
    fn contradictions(self) -> Vec<Contradiction> {
        let Self { connection, sent, sent_bytes, acked_bytes, lost } = self;
        let mut found = Vec::new();
        let mut say = |check, problem| found.push(Contradiction { check, connection, path: None, problem });
        if acked_bytes > sent_bytes {
            say("acked_more_than_sent", format!("{acked_bytes} bytes were acknowledged, of {sent_bytes} sent"));
        }
        if lost > sent && sent > 0 {
            say("lost_more_than_sent", format!("{lost} packets were lost, of {sent} sent"));
        }
        found
    }
}

/// The checks of one trace, fed with its rows in the order of the file.
#[derive(Default)]
pub struct Plausible {
    paths: Vec<Path>,
    places: HashMap<(u32, Option<i64>), usize>,
    last: usize,
    unchecked: bool,
}

impl Plausible {
    /// A row of the table.
    pub fn see(&mut self, event: &Event) {
        if matches!(event.source, Source::Qlog | Source::Netlog) {
            if let Some(path) = self.path(event.connection, event.path) {
                path.see(event);
            }
        }
    }

    /// An ACK frame arrived; `beyond` is whether it names packets after the last one that was sent.
    pub fn ack(&mut self, connection: usize, path: Option<i64>, beyond: bool) {
        if let Some(path) = self.path(connection as u32, path) {
            path.acks += 1;
            path.acks_beyond += u64::from(beyond);
        }
    }

    /// A packet was sent whose number another one had before.
    pub fn sent_again(&mut self, connection: usize, path: Option<i64>) {
        if let Some(path) = self.path(connection as u32, path) {
            path.sent_again += 1;
        }
    }

    /// Whether round trips contradict their trace, if they do so everywhere and would be right in the next unit.
    #[must_use]
    pub fn misread(&self) -> Option<Misread> {
        let mut found = self.paths.iter().filter_map(Path::misread);
        let (first, fits) = found.next()?;
        (fits && found.all(|(misread, fits)| fits && misread == first)).then_some(first)
    }

    /// What does not agree, the first few; and a word on what was not checked.
    #[must_use]
    pub fn contradictions(&self) -> (Vec<Contradiction>, Option<String>) {
        let of_paths = self.paths.iter().flat_map(|path| {
            let (connection, of) = path.of;
            path.contradictions().into_iter().map(move |(check, problem)| Contradiction {
                check,
                connection,
                path: of,
                problem,
            })
        });
        let all = of_paths.chain(self.sums().into_iter().flat_map(Sums::contradictions));
        let unchecked =
            self.unchecked.then(|| format!("beyond {MOST_CHECKED} paths, nothing was checked against the trace"));
        (all.take(MOST_REPORTED).collect(), unchecked)
    }

    /// Of all paths of each connection: a packet may be acknowledged on another path than it was sent on.
    fn sums(&self) -> Vec<Sums> {
        let mut sums: BTreeMap<u32, Sums> = BTreeMap::new();
        for path in &self.paths {
            let sum = sums.entry(path.of.0).or_insert(Sums { connection: path.of.0, ..Sums::default() });
            sum.sent += path.sent;
            sum.lost = sum.lost.saturating_add(path.lost);
            sum.sent_bytes = sum.sent_bytes.saturating_add(path.sent_bytes);
            sum.acked_bytes = sum.acked_bytes.saturating_add(path.acked_bytes);
        }
        sums.into_values().collect()
    }

    fn path(&mut self, connection: u32, path: Option<i64>) -> Option<&mut Path> {
        let of = (connection, path);
        if self.paths.get(self.last).is_none_or(|known| known.of != of) {
            self.last = match self.places.get(&of) {
                Some(&place) => place,
                None if self.paths.len() == MOST_CHECKED => {
                    self.unchecked = true;
                    return None;
                }
                None => {
                    self.places.insert(of, self.paths.len());
                    self.paths.push(Path::new(of));
                    self.paths.len() - 1
                }
            };
        }
        self.paths.get_mut(self.last)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::event::{Kind, Space, Vantage};

    const MS: i64 = 1_000_000;

    fn row(time_ns: i64, kind: Kind, number: Option<i64>) -> Event {
        let mut event = Event::new(time_ns, Vantage::Server, Source::Qlog, kind);
        event.space = Some(Space::OneRtt);
        event.packet_number = number;
        event.size_bytes = Some(1200);
        event
    }

    fn metrics(time_ns: i64, rtt_ns: i64) -> Event {
        let mut event = row(time_ns, Kind::Metrics, None);
        event.latest_rtt_ns = Some(rtt_ns);
        event
    }

    /// Round trips of a trace whose packets are acknowledged after 30 ms, as they are read; some log them before the
    /// packet that brought them.
    fn rounds(rtts_ns: &[i64], has_acks: bool, is_before: bool) -> Plausible {
        let mut plausible = Plausible::default();
        for (number, rtt_ns) in (0..).zip(rtts_ns) {
            let sent_ns = number * 40 * MS;
            plausible.see(&row(sent_ns, Kind::PacketSent, Some(number)));
            if is_before {
                plausible.see(&metrics(sent_ns + 30 * MS - 9_000, *rtt_ns));
            }
            plausible.see(&row(sent_ns + 30 * MS, Kind::PacketReceived, Some(number)));
            if has_acks {
                plausible.see(&row(sent_ns + 30 * MS, Kind::PacketAcked, Some(number)));
            }
            if !is_before {
                plausible.see(&metrics(sent_ns + 30 * MS, *rtt_ns));
            }
            plausible.see(&row(sent_ns + 31 * MS, Kind::AppLimited, None));
        }
        plausible
    }

    fn checks(plausible: &Plausible) -> Vec<&'static str> {
        plausible.contradictions().0.into_iter().map(|found| found.check).collect()
    }

    #[test]
    fn round_trips_of_another_unit_contradict_the_trace() {
        for (scale, misread, by_acks, by_bounds) in [
            (1_000_000, None, &[][..], &[][..]),
            (1_000, Some(Misread::TooShort), &["rtt_below_send_to_ack"][..], &["rtt_below_packet_times"][..]),
            (1_000_000_000, Some(Misread::TooLong), &["rtt_above_send_to_ack"][..], &["rtt_above_trace"][..]),
        ] {
            let rtts_ns = [30 * scale, 31 * scale, 32 * scale];
            for is_before in [false, true] {
                let (with, without) = (rounds(&rtts_ns, true, is_before), rounds(&rtts_ns, false, is_before));
                assert_eq!((with.misread(), checks(&with)), (misread, by_acks.to_vec()));
                assert_eq!((without.misread(), checks(&without)), (misread, by_bounds.to_vec()));
            }
        }
    }

    #[test]
    fn a_few_odd_round_trips_are_no_contradiction() {
        for odd_ns in [30_000, 30_000 * MS] {
            let plausible = rounds(&[30 * MS, 31 * MS, odd_ns, 32 * MS], true, false);
            assert_eq!((plausible.misread(), checks(&plausible)), (None, vec![]));
        }
    }

    #[test]
    fn what_no_unit_explains_is_no_misread_unit() {
        let plausible = rounds(&[40, 41, 42], true, false);
        assert_eq!((plausible.misread(), checks(&plausible)), (None, vec!["rtt_below_send_to_ack"]));
    }

    #[test]
    fn a_clock_of_whole_milliseconds_is_no_contradiction() {
        let mut plausible = Plausible::default();
        for number in 0..20 {
            let sent_ns = number * 2 * MS;
            plausible.see(&row(sent_ns, Kind::PacketSent, Some(number)));
            plausible.see(&row(sent_ns + (number % 2) * MS, Kind::PacketReceived, Some(number)));
            plausible.see(&row(sent_ns + (number % 2) * MS, Kind::PacketAcked, Some(number)));
            plausible.see(&metrics(sent_ns + (number % 2) * MS, number % 3 * 400_000));
        }
        assert_eq!((plausible.misread(), checks(&plausible)), (None, vec![]));
    }

    #[test]
    fn an_old_acknowledgement_of_a_packet_that_asked_for_none_is_not_compared() {
        let mut plausible = Plausible::default();
        for number in 0..5 {
            plausible.see(&row(number, Kind::PacketSent, Some(number)));
        }
        plausible.see(&row(5_000 * MS, Kind::PacketSent, Some(5)));
        plausible.see(&row(5_001 * MS, Kind::PacketReceived, Some(0)));
        for number in 0..6 {
            plausible.see(&row(5_001 * MS, Kind::PacketAcked, Some(number)));
        }
        plausible.see(&metrics(5_001 * MS, MS));
        assert_eq!(checks(&plausible), [""; 0]);
    }

    #[test]
    fn counts_contradict_each_other() {
        let mut plausible = Plausible::default();
        for number in 0..10 {
            plausible.see(&row(number, Kind::PacketSent, Some(number)));
        }
        plausible.ack(0, None, false);
        assert_eq!(checks(&plausible), ["acked_none"]);
        plausible.ack(0, None, true);
        plausible.sent_again(0, None);
        let mut lost = row(11, Kind::PacketLost, None);
        lost.value = Some(11.0);
        plausible.see(&lost);
        assert_eq!(checks(&plausible), ["acked_none", "acked_unsent", "sent_twice", "lost_more_than_sent"]);
        for number in 0..11 {
            plausible.see(&row(20, Kind::PacketAcked, Some(number)));
        }
        assert_eq!(checks(&plausible), ["acked_unsent", "sent_twice", "acked_more_than_sent", "lost_more_than_sent"]);
    }

    #[test]
    fn paths_are_compared_with_themselves() {
        let mut plausible = Plausible::default();
        for path in [0, 1] {
            for number in 0..10 {
                plausible.see(&Event { path: Some(path), ..row(number, Kind::PacketSent, Some(number)) });
            }
        }
        plausible.ack(0, Some(1), false);
        let (found, unchecked) = plausible.contradictions();
        assert_eq!(found.iter().map(|found| (found.check, found.path)).collect::<Vec<_>>(), [("acked_none", Some(1))]);
        assert_eq!(unchecked, None);
    }
}
