//! Departures of producers from qlog, and how they are recognised.

use crate::decimal::scaled;
use crate::json::{Bad, Cursor};
use crate::plausible::Misread;
use crate::qlog::header::Header;

const MILLISECONDS: i32 = 6;
const SECONDS: i32 = 9;
/// quinn's first round trip is the configured guess, 333 ms unless set: less than this shows that the unit is seconds.
const LONGEST_FIRST_RTT_S: i64 = 10;
/// The guess itself in seconds, as a float of 32 or 64 bits is written: other programs with quinn have their own title.
const GUESS_NS: std::ops::RangeInclusive<i64> = 332_999_900..=333_000_100;
/// Producers that write milliseconds, as qlog says.
const IN_MILLISECONDS: [&str; 6] = ["quic-go", "quiche", "netty", "ngtcp2", "aioquic", "tquic"];

/// The departures of one producer.
#[derive(Clone, Copy, Debug)]
pub struct Quirks {
    /// Power of ten from the unit of round trips to nanoseconds, once it is known.
    rtt_power: Option<i32>,
    /// Whether neither the file nor its producer gives the unit, so that it is taken from the values.
    is_guessed: bool,
    is_quinn: bool,
    /// Bits in a unit of `pacing_rate`.
    pub pacing_bits: i64,
}

impl Quirks {
    /// Returns the departures of a trace's producer; `misread` is what an earlier pass found wrong with its round trips.
    ///
    /// - Up to draft-02, a file may declare a unit of time, which round trips have too.
    /// - quinn wrote round trips in seconds (`as_secs_f32`) until May 2026: the first one shows it.
    /// - quiche, and netty that wraps it, write `pacing_rate` in bytes per second.
    #[must_use]
    pub fn of(header: &Header, misread: Option<Misread>) -> Self {
        let name = header.producer.as_deref().unwrap_or_default().split(' ').next().unwrap_or_default();
        let given = if header.declares_unit {
            Some(header.time_power)
        } else {
            IN_MILLISECONDS.contains(&name).then_some(MILLISECONDS)
        };
        let learned = misread.map(|misread| match misread {
            Misread::TooShort => SECONDS,
            Misread::TooLong => MILLISECONDS,
        });
        Self {
            rtt_power: given.or(learned),
            is_guessed: given.is_none(),
            is_quinn: name == "quinn",
            pacing_bits: if matches!(name, "quiche" | "netty") { 8 } else { 1 },
        }
    }

    /// Whether another unit of round trips may be tried, in this direction.
    #[must_use]
    pub fn may_be(&self, misread: Misread) -> bool {
        let power = self.rtt_power.unwrap_or(MILLISECONDS);
        self.is_guessed && power == if misread == Misread::TooShort { MILLISECONDS } else { SECONDS }
    }

    /// Power of ten from the unit of round trips to nanoseconds; `data` are metrics with perhaps the first of them.
    pub fn rtt_power(&mut self, data: &[u8]) -> i32 {
        if let Some(known) = self.rtt_power {
            return known;
        }
        let Ok(Some(first_ns)) = first_rtt_ns(data) else { return MILLISECONDS };
        let in_seconds =
            if self.is_quinn { first_ns < LONGEST_FIRST_RTT_S * 1_000_000_000 } else { GUESS_NS.contains(&first_ns) };
        *self.rtt_power.insert(if in_seconds { SECONDS } else { MILLISECONDS })
    }
}

/// The smoothed round trip of an event, if it counts seconds.
fn first_rtt_ns(data: &[u8]) -> Result<Option<i64>, Bad> {
    let mut first = None;
    Cursor::new(data).object(|key, cursor| {
        if key == b"smoothed_rtt" {
            first = scaled(cursor.scalar()?, SECONDS);
        } else {
            cursor.skip()?;
        }
        Ok(())
    })?;
    Ok(first)
}
