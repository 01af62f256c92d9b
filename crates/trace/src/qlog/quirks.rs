//! Departures of producers from qlog, and how they are recognised.

use crate::decimal::scaled;
use crate::json::Cursor;

const MILLISECONDS: i32 = 6;
const SECONDS: i32 = 9;
/// quinn's first round trip is the configured guess, 333 ms unless set: less than this shows that the unit is seconds.
const LONGEST_FIRST_RTT: i64 = 10;

/// The departures of one producer.
#[derive(Clone, Copy, Debug)]
pub struct Quirks {
    /// Power of ten from the unit of round trips to nanoseconds, once it is known.
    rtt_power: Option<i32>,
    /// Bits in a unit of `pacing_rate`.
    pub pacing_bits: i64,
}

impl Quirks {
    /// Returns the departures of a producer, by its name in [`crate::qlog::header::Header`].
    ///
    /// - quinn writes round trips in seconds (`as_secs_f32`), and may correct that: the first one shows it.
    /// - quiche, and netty that wraps it, write `pacing_rate` in bytes per second.
    #[must_use]
    pub fn of(producer: Option<&str>) -> Self {
        let name = producer.unwrap_or_default().split(' ').next().unwrap_or_default();
        Self {
            rtt_power: if name == "quinn" { None } else { Some(MILLISECONDS) },
            pacing_bits: if matches!(name, "quiche" | "netty") { 8 } else { 1 },
        }
    }

    /// Power of ten from the unit of round trips to nanoseconds; `data` are metrics with perhaps the first of them.
    pub fn rtt_power(&mut self, data: &[u8]) -> i32 {
        if let Some(known) = self.rtt_power {
            return known;
        }
        let mut first = None;
        let read = Cursor::new(data).object(|key, cursor| {
            if key == b"smoothed_rtt" {
                first = scaled(cursor.scalar()?, SECONDS);
            } else {
                cursor.skip()?;
            }
            Ok(())
        });
        let Some(first) = first.filter(|_| read.is_ok()) else { return MILLISECONDS };
        let power = if first < LONGEST_FIRST_RTT * 1_000_000_000 { SECONDS } else { MILLISECONDS };
        self.rtt_power = Some(power);
        power
    }
}
