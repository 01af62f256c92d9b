//! Times of a trace's events → nanoseconds since the file's reference.

use crate::decimal::scaled;
use crate::qlog::header::{Header, TimeFormat};

/// Later than 1973 in milliseconds since 1970: no time since a trace's beginning is so long.
const ABSOLUTE_NS: i64 = 100_000_000_000_000_000;

/// Reads the times of one trace.
#[derive(Clone, Copy, Debug)]
pub struct Clock {
    format: TimeFormat,
    power: i32,
    offset_ns: i64,
    /// The trace's reference, and the file's, which is that of its first trace.
    own_unix_ns: Option<i64>,
    file_unix_ns: Option<i64>,
    last_ns: i64,
}

impl Clock {
    /// Of a trace in a file whose reference may be known already.
    #[must_use]
    pub fn new(header: &Header, file_unix_ns: Option<i64>) -> Self {
        Self {
            format: header.time_format,
            power: header.time_power,
            offset_ns: header.time_offset_ns,
            own_unix_ns: header.reference_unix_ns,
            file_unix_ns: file_unix_ns.or(header.reference_unix_ns),
            last_ns: 0,
        }
    }

    /// What times of the file count from, once its first time is read.
    #[must_use]
    pub fn reference_unix_ns(&self) -> Option<i64> {
        self.file_unix_ns
    }

    /// The time of an event; `None` where that is no time.
    pub fn time_ns(&mut self, text: &[u8]) -> Option<i64> {
        let said_ns = scaled(text, self.power)?.checked_add(self.offset_ns)?;
        if self.format == TimeFormat::Unknown {
            self.format = if said_ns >= ABSOLUTE_NS { TimeFormat::Absolute } else { TimeFormat::Relative };
        }
        match self.format {
            TimeFormat::Absolute if said_ns >= ABSOLUTE_NS => {
                said_ns.checked_sub(*self.file_unix_ns.get_or_insert(said_ns))
            }
            TimeFormat::Delta => {
                self.last_ns = self.last_ns.checked_add(said_ns)?;
                self.since_file(self.last_ns)
            }
            _ => self.since_file(said_ns),
        }
    }

    fn since_file(&self, own_ns: i64) -> Option<i64> {
        match (self.own_unix_ns, self.file_unix_ns) {
            (Some(own), Some(file)) => own_ns.checked_add(own.checked_sub(file)?),
            _ => Some(own_ns),
        }
    }
}
