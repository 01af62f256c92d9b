//! `2026-11-21T02:41:30.314828708Z` → nanoseconds since 1970.

use crate::decimal::scaled;

/// Nanoseconds since 1970, every digit kept; `None` where it is no such time.
#[must_use]
pub fn unix_ns(text: &str) -> Option<i64> {
    let (date, time) = text.split_once(['T', 't', ' '])?;
    let mut parts = date.splitn(3, '-');
    let mut part = || number(parts.next()?);
    let (year, month, day) = (part()?, part()?, part()?);
    let zone_at = time.find(['Z', 'z', '+', '-'])?;
    let (clock, zone) = time.split_at(zone_at);
    let mut parts = clock.splitn(3, ':');
    let (hour, minute) = (number(parts.next()?)?, number(parts.next()?)?);
    let second_ns = scaled(parts.next()?.as_bytes(), 9)?;
    let sensible = (1..=12).contains(&month) && (1..=31).contains(&day) && (0..=24).contains(&hour);
    if !sensible
        || !(0..=9999).contains(&year)
        || !(0..60).contains(&minute)
        || !(0..=60_999_999_999).contains(&second_ns)
    {
        return None;
    }
    let offset_minutes = if zone.len() == 1 {
        0
    } else {
        let (hours, minutes) = zone[1..].split_once(':')?;
        let east = number(hours)? * 60 + number(minutes)?;
        if zone.starts_with('-') { -east } else { east }
    };
    let minutes = (days_since_1970(year, month, day) * 24 + hour) * 60 + minute - offset_minutes;
    minutes.checked_mul(60_000_000_000)?.checked_add(second_ns)
}

fn number(text: &str) -> Option<i64> {
    if text.len() <= 4 && text.bytes().all(|byte| byte.is_ascii_digit()) { text.parse().ok() } else { None }
}

/// Howard Hinnant's `days_from_civil`: eras of 400 years that begin in March.
fn days_since_1970(year: i64, month: i64, day: i64) -> i64 {
    let year = year - i64::from(month <= 2);
    let era = year.div_euclid(400);
    let year_of_era = year.rem_euclid(400);
    let day_of_year = (153 * ((month + 9) % 12) + 2) / 5 + day - 1;
    era * 146_097 + year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year - 719_468
}

#[cfg(test)]
mod tests {
    use super::unix_ns;

    #[test]
    fn known_moments() {
        assert_eq!(unix_ns("1970-01-01T00:00:00Z"), Some(0));
        assert_eq!(unix_ns("2000-02-29T12:00:00.5Z"), Some(951_825_600_500_000_000));
        assert_eq!(unix_ns("2026-11-21T02:41:30.314828708Z"), Some(1_795_228_890_314_828_708));
        assert_eq!(unix_ns("2026-11-21T03:41:30.314828708+01:00"), Some(1_795_228_890_314_828_708));
        assert_eq!(unix_ns("1969-12-31T23:59:59Z"), Some(-1_000_000_000));
    }

    #[test]
    fn other_texts_are_none() {
        for text in
            ["", "unknown", "2026-11-21", "2026-13-01T00:00:00Z", "2026-11-21T02:41Z", "2026-11-21T02:41:30", "+:T:-"]
        {
            assert_eq!(unix_ns(text), None, "{text}");
        }
    }
}
