//! Sets of bytes of a stream.

/// Ranges that are remembered; beyond it the lowest are forgotten.
const MOST_RANGES: usize = 1 << 12;

/// Ranges of bytes, ascending and apart, each with the place behind its end.
#[derive(Default)]
pub struct Ranges(Vec<(i64, i64)>);

impl Ranges {
    /// Adds a range; returns how many of its bytes are new.
    pub fn add(&mut self, low: i64, high: i64) -> i64 {
        if low >= high {
            return 0;
        }
        let from = self.0.partition_point(|(_, end)| *end < low);
        let to = from + self.0[from..].partition_point(|(start, _)| *start <= high);
        let known: i64 =
            self.0[from..to].iter().map(|(start, end)| ((*end).min(high) - (*start).max(low)).max(0)).sum();
        let whole = match &self.0[from..to] {
            [] => (low, high),
            [first, ..] => (low.min(first.0), high.max(self.0[to - 1].1)),
        };
        self.0.splice(from..to, [whole]);
        if self.0.len() > MOST_RANGES {
            self.0.remove(0);
        }
        high - low - known
    }

    /// Forgets everything before a place.
    pub fn forget_before(&mut self, place: i64) {
        let gone = self.0.partition_point(|(_, end)| *end <= place);
        self.0.drain(..gone);
        if let Some(first) = self.0.first_mut() {
            first.0 = first.0.max(place);
        }
    }

    /// The place behind the last byte.
    pub fn end(&self) -> Option<i64> {
        self.0.last().map(|(_, end)| *end)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_join_and_count_what_is_new() {
        let mut ranges = Ranges::default();
        assert_eq!(ranges.add(10, 20), 10);
        assert_eq!(ranges.add(30, 40), 10);
        assert_eq!(ranges.add(15, 35), 10);
        assert_eq!(ranges.0, [(10, 40)]);
        assert_eq!(ranges.add(12, 18), 0);
        ranges.forget_before(25);
        assert_eq!(ranges.0, [(25, 40)]);
        assert_eq!(ranges.add(5, 5), 0);
    }
}
