//! Wall time is read once and the monotonic clock does the rest, so that differences never jump.

use std::sync::OnceLock;
use std::time::{Instant, SystemTime, UNIX_EPOCH};

static STARTED: OnceLock<(Instant, u64)> = OnceLock::new();

/// Return the nanoseconds since 1970 of a moment of the monotonic clock.
pub fn ns_at(moment: Instant) -> u64 {
    let (start, anchor_ns) = *STARTED.get_or_init(|| {
        let since_1970 = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        (Instant::now(), since_1970.as_nanos() as u64)
    });
    match moment.checked_duration_since(start) {
        Some(later) => anchor_ns + later.as_nanos() as u64,
        None => anchor_ns - (start - moment).as_nanos() as u64,
    }
}

/// Return the nanoseconds since 1970, now.
pub fn now_ns() -> u64 {
    ns_at(Instant::now())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    #[test]
    fn differences_are_those_of_the_monotonic_clock() {
        let now = Instant::now();
        assert_eq!(ns_at(now + Duration::from_millis(3)) - ns_at(now), 3_000_000);
        assert!(now_ns() > 1_600_000_000 * 1_000_000_000);
    }
}
