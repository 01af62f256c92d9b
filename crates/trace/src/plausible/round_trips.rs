//! Round trips against times of the same trace.

/// Round trips that are this many times too long or too short are contradictions: no sender measures them so wrongly.
pub const FACTOR: i64 = 100;
/// The least that a clock resolves, and the least that a round trip of 0 may have to be compared with.
const LEAST_ROUND_TRIP_NS: i64 = 1_000;
const COARSE_CLOCK_NS: i64 = 20_000;
/// Without acknowledgements in the trace, this many of the first round trips are compared.
const MOST_BOUNDED: u32 = 64;

/// The unit of round trips is wrong by a factor of 1000, in this direction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Misread {
    /// They are 1000 times too short.
    TooShort,
    /// They are 1000 times too long.
    TooLong,
}

impl Misread {
    /// The other direction.
    #[must_use]
    pub fn other(self) -> Self {
        match self {
            Self::TooShort => Self::TooLong,
            Self::TooLong => Self::TooShort,
        }
    }

    /// How they are read instead, in words.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::TooShort => {
                "round trips are read as seconds: as milliseconds they contradict the times of the packets"
            }
            Self::TooLong => {
                "round trips are read as milliseconds: as seconds they contradict the times of the packets"
            }
        }
    }
}

/// How round trips compare with times of the same trace.
#[derive(Clone, Copy, Default)]
pub struct Comparison {
    /// How many were compared.
    pub compared: u32,
    /// How many of them are too short.
    pub too_short: u32,
    /// How many are too long.
    pub too_long: u32,
    /// Of those, how many would be right in the next unit.
    fits: u32,
    /// The first contradiction: round trip and what it was compared with.
    pub example: Option<(i64, i64)>,
}

impl Comparison {
    /// Of a round trip with the time from its packet to the acknowledgement, which are equal but for the clock's rounding.
    pub fn with_send_to_ack(&mut self, rtt_ns: i64, send_to_ack_ns: i64) {
        let (least, most) = (rtt_ns.max(LEAST_ROUND_TRIP_NS), send_to_ack_ns.max(COARSE_CLOCK_NS));
        self.compared += 1;
        if send_to_ack_ns >= FACTOR * least && (rtt_ns > 0 || send_to_ack_ns >= 5_000 * LEAST_ROUND_TRIP_NS) {
            self.too_short += 1;
            self.odd(rtt_ns, send_to_ack_ns, is_about(rtt_ns.saturating_mul(1000), send_to_ack_ns));
        } else if rtt_ns / FACTOR >= most {
            self.too_long += 1;
            self.odd(rtt_ns, send_to_ack_ns, is_about(rtt_ns / 1000, most));
        }
    }

    /// Of a round trip with what it must lie between: since the last packet before the one that arrived, since the first.
    pub fn with_bounds(&mut self, rtt_ns: i64, least_ns: i64, most_ns: i64) {
        if self.compared == MOST_BOUNDED {
            return;
        }
        self.compared += 1;
        if least_ns >= FACTOR * rtt_ns.max(LEAST_ROUND_TRIP_NS) {
            self.too_short += 1;
            let longer_ns = rtt_ns.saturating_mul(1000);
            self.odd(rtt_ns, least_ns, longer_ns >= least_ns / 4 && longer_ns <= most_ns.saturating_mul(4));
        } else if rtt_ns / FACTOR >= most_ns.max(COARSE_CLOCK_NS) {
            self.too_long += 1;
            self.odd(rtt_ns, most_ns, rtt_ns / 1000 >= least_ns / 4 && rtt_ns / 1000 <= most_ns.saturating_mul(4));
        }
    }

    fn odd(&mut self, rtt_ns: i64, other_ns: i64, fits: bool) {
        self.fits += u32::from(fits);
        self.example = self.example.or(Some((rtt_ns, other_ns)));
    }

    /// In which unit they are misread, and whether they would be right in the next one, if at least `needed` are compared.
    #[must_use]
    pub fn misread(&self, needed: u32) -> Option<(Misread, bool)> {
        if self.compared < needed {
            return None;
        }
        let most = |count: u32| 2 * count > self.compared;
        let misread = match (most(self.too_short), most(self.too_long)) {
            (true, _) => Misread::TooShort,
            (_, true) => Misread::TooLong,
            _ => return None,
        };
        Some((misread, most(self.fits)))
    }
}

fn is_about(one_ns: i64, other_ns: i64) -> bool {
    one_ns / 4 <= other_ns && other_ns / 4 <= one_ns
}
