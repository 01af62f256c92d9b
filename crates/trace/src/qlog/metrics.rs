//! The numbers of a sender; an event has only those that changed.

use crate::decimal::scaled;
use crate::event::Event;
use crate::json::{Bad, Cursor};
use crate::qlog::quirks::Quirks;

/// The numbers of a sender.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[allow(missing_docs, reason = "as in the table")]
pub struct Metrics {
    pub cwnd_bytes: Option<i64>,
    pub ssthresh_bytes: Option<i64>,
    pub in_flight_bytes: Option<i64>,
    pub srtt_ns: Option<i64>,
    pub rttvar_ns: Option<i64>,
    pub min_rtt_ns: Option<i64>,
    pub latest_rtt_ns: Option<i64>,
    pub pacing_bps: Option<i64>,
    pub pto_count: Option<i64>,
    pub app_limited: Option<bool>,
    /// Lost since the connection began, of stacks that count only.
    pub lost_packets: Option<i64>,
}

impl Metrics {
    /// Takes over the numbers of an event.
    pub fn update(&mut self, data: &[u8], quirks: &mut Quirks) -> Result<(), Bad> {
        if data.is_empty() {
            return Err(Bad::Shape);
        }
        let rtt_power = quirks.rtt_power(data);
        Cursor::new(data).object(|key, cursor| {
            match key {
                b"congestion_window" | b"cwnd" | b"current_cwnd" => self.cwnd_bytes = scaled(cursor.scalar()?, 0),
                b"ssthresh" => self.ssthresh_bytes = scaled(cursor.scalar()?, 0),
                b"bytes_in_flight" | b"in_flight" => self.in_flight_bytes = scaled(cursor.scalar()?, 0),
                b"smoothed_rtt" | b"srtt" => self.srtt_ns = scaled(cursor.scalar()?, rtt_power),
                b"rtt_variance" | b"rttvar" => self.rttvar_ns = scaled(cursor.scalar()?, rtt_power),
                b"min_rtt" => self.min_rtt_ns = scaled(cursor.scalar()?, rtt_power),
                b"latest_rtt" => self.latest_rtt_ns = scaled(cursor.scalar()?, rtt_power),
                b"pacing_rate" => {
                    self.pacing_bps = scaled(cursor.scalar()?, 0).and_then(|rate| rate.checked_mul(quirks.pacing_bits));
                }
                b"pto_count" => self.pto_count = scaled(cursor.scalar()?, 0),
                b"cf_app_limited" | b"app_limited" => {
                    self.app_limited = match cursor.scalar()? {
                        b"true" => Some(true),
                        b"false" => Some(false),
                        _ => None,
                    }
                }
                b"cf_lost_packets" | b"lost_packets" => {
                    if let Some(total) = total(cursor)? {
                        self.lost_packets = Some(total);
                    }
                }
                _ => {
                    cursor.skip()?;
                }
            }
            Ok(())
        })
    }

    /// Writes them into a row.
    pub fn fill(&self, event: &mut Event) {
        event.cwnd_bytes = self.cwnd_bytes;
        event.ssthresh_bytes = self.ssthresh_bytes;
        event.in_flight_bytes = self.in_flight_bytes;
        event.srtt_ns = self.srtt_ns;
        event.rttvar_ns = self.rttvar_ns;
        event.min_rtt_ns = self.min_rtt_ns;
        event.latest_rtt_ns = self.latest_rtt_ns;
        event.pacing_bps = self.pacing_bps;
        event.pto_count = self.pto_count;
    }
}

/// A count that is written as a number, or as `{"total":…,"delta":…}`.
fn total(cursor: &mut Cursor<'_>) -> Result<Option<i64>, Bad> {
    if cursor.peek()? != b'{' {
        return Ok(scaled(cursor.scalar()?, 0));
    }
    let mut total = None;
    cursor.object(|key, cursor| {
        if key == b"total" {
            total = scaled(cursor.scalar()?, 0);
        } else {
            cursor.skip()?;
        }
        Ok(())
    })?;
    Ok(total)
}
