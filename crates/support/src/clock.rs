//! The clocks of the machine, as every program of ours reads them.

use nix::time::{ClockId, clock_gettime};

fn read(clock: ClockId) -> u64 {
    // It fails only for a clock that does not exist; these exist on every Linux.
    let now = clock_gettime(clock).expect("the clock exists");
    now.tv_sec() as u64 * 1_000_000_000 + now.tv_nsec() as u64
}

/// `CLOCK_MONOTONIC`.
#[must_use]
pub fn monotonic_ns() -> u64 {
    read(ClockId::CLOCK_MONOTONIC)
}

/// `CLOCK_REALTIME`.
#[must_use]
pub fn unix_ns() -> u64 {
    read(ClockId::CLOCK_REALTIME)
}

/// CPU time of this process, all threads.
#[must_use]
pub fn process_cpu_ns() -> u64 {
    read(ClockId::CLOCK_PROCESS_CPUTIME_ID)
}

/// One moment on two clocks.
#[derive(Debug, Clone, Copy)]
pub struct Anchor {
    /// `CLOCK_MONOTONIC`.
    pub monotonic_ns: u64,
    /// `CLOCK_REALTIME`.
    pub unix_ns: u64,
}

impl Anchor {
    /// Reads both clocks; of five tries the one that was interrupted least.
    #[must_use]
    pub fn read() -> Self {
        let attempt = || {
            let before = monotonic_ns();
            let unix_ns = unix_ns();
            let after = monotonic_ns();
            (after - before, Self { monotonic_ns: u64::midpoint(before, after), unix_ns })
        };
        let first = attempt();
        let best = (0..4).map(|_| attempt()).fold(first, |best, next| if next.0 < best.0 { next } else { best });
        best.1
    }

    /// A stamp of the wall clock on the monotonic clock.
    #[must_use]
    pub fn to_monotonic(self, unix_ns: u64) -> u64 {
        let since_ns = unix_ns.wrapping_sub(self.unix_ns) as i64;
        self.monotonic_ns.saturating_add_signed(since_ns)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stamps_before_and_after_the_anchor_keep_their_distance() {
        let anchor = Anchor { monotonic_ns: 1_000, unix_ns: 1_700_000_000_000_000_000 };
        assert_eq!(anchor.to_monotonic(1_700_000_000_000_000_500), 1_500);
        assert_eq!(anchor.to_monotonic(1_699_999_999_999_999_900), 900);
        assert_eq!(anchor.to_monotonic(1_699_999_990_000_000_000), 0);
    }

    #[test]
    fn the_anchor_lies_between_two_readings() {
        let before = monotonic_ns();
        let anchor = Anchor::read();
        assert!((before..=monotonic_ns()).contains(&anchor.monotonic_ns));
    }
}
