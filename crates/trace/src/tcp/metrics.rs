//! The sender's numbers as rows: a row has only the numbers that have changed.

use super::message::Message;
use crate::event::Event;

const NO_THRESHOLD: i64 = 0x7fff_ffff;
const NS_PER_US: i64 = 1000;
const BITS_PER_BYTE: i64 = 8;

/// The sender's numbers at one moment; None where one is not known.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Metrics {
    /// Congestion window, bytes.
    pub cwnd_bytes: Option<i64>,
    /// Where slow start ends, bytes; None also where there is no such limit yet.
    pub ssthresh_bytes: Option<i64>,
    /// Bytes in flight.
    pub in_flight_bytes: Option<i64>,
    /// Smoothed round trip.
    pub srtt_ns: Option<i64>,
    /// Its mean deviation.
    pub rttvar_ns: Option<i64>,
    /// The least round trip.
    pub min_rtt_ns: Option<i64>,
    /// Bits per second.
    pub pacing_bps: Option<i64>,
    /// Timeouts in a row.
    pub pto_count: Option<i64>,
    /// Bytes acknowledged so far.
    pub acked_bytes: Option<i64>,
}

impl Metrics {
    /// Returns the numbers of a sample.
    pub fn of_sample(message: &Message, mss: Option<i64>, acked_bytes: Option<i64>) -> Self {
        Self {
            in_flight_bytes: mss.and_then(|mss| message.in_flight_bytes(mss)),
            rttvar_ns: ns(message.rttvar_us()),
            min_rtt_ns: ns(message.min_rtt_us()),
            pacing_bps: message.pacing_rate().map(|rate| rate.saturating_mul(BITS_PER_BYTE)),
            pto_count: message.backoff(),
            acked_bytes,
            ..Self::of_window(message.cwnd(), message.ssthresh(), message.rtt_us(), mss)
        }
    }

    /// Of window and threshold in segments, and a round trip in µs.
    pub fn of_window(cwnd: Option<i64>, ssthresh: Option<i64>, srtt_us: Option<i64>, mss: Option<i64>) -> Self {
        Self {
            cwnd_bytes: bytes(cwnd, mss),
            ssthresh_bytes: bytes(ssthresh.filter(|limit| *limit < NO_THRESHOLD), mss),
            srtt_ns: ns(srtt_us.filter(|srtt| *srtt > 0)),
            ..Self::default()
        }
    }

    /// Returns the numbers that differ from `self`, and takes them over; None if none differs.
    pub fn learn(&mut self, now: &Self) -> Option<Self> {
        let fresh = |old: &mut Option<i64>, new: Option<i64>| {
            let news = new.filter(|_| *old != new);
            *old = news.or(*old);
            news
        };
        let news = Self {
            cwnd_bytes: fresh(&mut self.cwnd_bytes, now.cwnd_bytes),
            ssthresh_bytes: fresh(&mut self.ssthresh_bytes, now.ssthresh_bytes),
            in_flight_bytes: fresh(&mut self.in_flight_bytes, now.in_flight_bytes),
            srtt_ns: fresh(&mut self.srtt_ns, now.srtt_ns),
            rttvar_ns: fresh(&mut self.rttvar_ns, now.rttvar_ns),
            min_rtt_ns: fresh(&mut self.min_rtt_ns, now.min_rtt_ns),
            pacing_bps: fresh(&mut self.pacing_bps, now.pacing_bps),
            pto_count: fresh(&mut self.pto_count, now.pto_count),
            acked_bytes: fresh(&mut self.acked_bytes, now.acked_bytes),
        };
        (news != Self::default()).then_some(news)
    }

    /// The same as columns of a row.
    pub fn fill(&self, event: &Event) -> Event {
        Event {
            cwnd_bytes: self.cwnd_bytes,
            ssthresh_bytes: self.ssthresh_bytes,
            in_flight_bytes: self.in_flight_bytes,
            srtt_ns: self.srtt_ns,
            rttvar_ns: self.rttvar_ns,
            min_rtt_ns: self.min_rtt_ns,
            pacing_bps: self.pacing_bps,
            pto_count: self.pto_count,
            acked_bytes: self.acked_bytes,
            ..*event
        }
    }
}

fn bytes(segments: Option<i64>, mss: Option<i64>) -> Option<i64> {
    Some(segments?.saturating_mul(mss?))
}

fn ns(us: Option<i64>) -> Option<i64> {
    Some(us?.saturating_mul(NS_PER_US))
}
