//! Sequence numbers of 32 bits → places in a stream.

/// Follows the numbers of one direction across their wraps.
#[derive(Default)]
pub struct Unwrap {
    last: Option<(u32, i64)>,
}

impl Unwrap {
    /// This number is place 0.
    pub fn begin(&mut self, number: u32) {
        self.last = Some((number, 0));
    }

    /// The place of a number: of those that it may stand for, the place next to the last one.
    pub fn unwrap(&mut self, number: u32) -> i64 {
        let (last, place) = *self.last.get_or_insert((number, 0));
        let found = place.saturating_add(i64::from(number.wrapping_sub(last) as i32));
        self.last = Some((number, found));
        found
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_wrap_in_both_directions() {
        let mut sequence = Unwrap::default();
        sequence.begin(u32::MAX - 9);
        assert_eq!(sequence.unwrap(u32::MAX), 9);
        assert_eq!(sequence.unwrap(10), 20);
        assert_eq!(sequence.unwrap(u32::MAX - 19), -10);
        assert_eq!(sequence.unwrap(1 << 30), (1 << 30) + 10);
        assert_eq!(sequence.unwrap(1 << 31), (1_i64 << 31) + 10);
        assert_eq!(sequence.unwrap(3 << 30), (3_i64 << 30) + 10);
        assert_eq!(sequence.unwrap(20), (1_i64 << 32) + 30);
    }
}
