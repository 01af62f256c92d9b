//! Decimal numbers as text → integers, without a detour over binary fractions.

/// The number times ten to the `power`, rounded half away from zero; `None` where it is no number or does not fit.
///
/// `scaled(b"1795228495184.0828", 6)` turns milliseconds into nanoseconds and keeps every digit.
#[must_use]
pub fn scaled(text: &[u8], power: i32) -> Option<i64> {
    let (negative, digits) = match text {
        [b'-', rest @ ..] => (true, rest),
        rest => (false, rest),
    };
    let mut value: u64 = 0;
    let mut places = power;
    let mut fraction = false;
    for (at, &byte) in digits.iter().enumerate() {
        match byte {
            b'0'..=b'9' if value < 1_000_000_000_000_000_000 => {
                value = value * 10 + u64::from(byte - b'0');
                places -= i32::from(fraction);
            }
            b'.' if !fraction && at > 0 => fraction = true,
            _ => return scaled_slowly(negative, digits, power),
        }
    }
    if digits.is_empty() {
        return None;
    }
    shift(value.into(), places, negative)
}

fn scaled_slowly(negative: bool, digits: &[u8], power: i32) -> Option<i64> {
    let exponent_at = digits.iter().position(|byte| matches!(byte, b'e' | b'E'));
    let (mantissa, exponent) = match exponent_at {
        Some(at) => (&digits[..at], std::str::from_utf8(&digits[at + 1..]).ok()?.parse::<i32>().ok()?),
        None => (digits, 0),
    };
    let mut value: u128 = 0;
    let mut places = power.checked_add(exponent)?;
    let mut fraction = false;
    let mut any = false;
    for &byte in mantissa {
        match byte {
            b'0'..=b'9' => {
                any = true;
                // Digits beyond 30 cannot change an integer of 64 bits unless the number is far too large for one.
                if value < 10_u128.pow(30) {
                    value = value * 10 + u128::from(byte - b'0');
                    places = places.checked_sub(i32::from(fraction))?;
                } else {
                    places = places.checked_add(i32::from(!fraction))?;
                }
            }
            b'.' if !fraction => fraction = true,
            _ => return None,
        }
    }
    if any { shift(value, places, negative) } else { None }
}

fn shift(value: u128, places: i32, negative: bool) -> Option<i64> {
    let magnitude = if value == 0 {
        0
    } else if places >= 0 {
        value.checked_mul(10_u128.checked_pow(places.unsigned_abs())?)?
    } else {
        match 10_u128.checked_pow(places.unsigned_abs()) {
            Some(divisor) => (value + divisor / 2) / divisor,
            None => 0,
        }
    };
    let magnitude = i64::try_from(magnitude).ok()?;
    Some(if negative { -magnitude } else { magnitude })
}

#[cfg(test)]
mod tests {
    use super::scaled;

    #[test]
    fn every_digit_counts() {
        assert_eq!(scaled(b"1795228495184.0828", 6), Some(1_795_228_495_184_082_800));
        assert_eq!(scaled(b"0.035586998", 6), Some(35_587));
        assert_eq!(scaled(b"0.0000005", 6), Some(1));
        assert_eq!(scaled(b"-3", 6), Some(-3_000_000));
        assert_eq!(scaled(b"1e3", 0), Some(1000));
        assert_eq!(scaled(b"1.5E-3", 6), Some(1500));
        assert_eq!(scaled(b"0", 6), Some(0));
        assert_eq!(scaled(b"0.1000000000000000055511151231257827", 9), Some(100_000_000));
    }

    #[test]
    fn what_is_no_number_or_too_large_is_none() {
        for text in [&b""[..], b"-", b".", b"1.2.3", b"null", b"1e", b"18446744073709551615", b"1e400", b"NaN", b".5e"]
        {
            assert_eq!(scaled(text, 0), None, "{}", String::from_utf8_lossy(text));
        }
        assert_eq!(scaled(b"1e-400", 6), Some(0));
        assert_eq!(scaled(b"9223372036854775807", 0), Some(i64::MAX));
    }
}
