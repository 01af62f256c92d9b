//! Lists of ranges of packets, as a parameter gives them.

use serde_json::Value;

/// More than any study of single packets needs, and few enough to be searched for every packet.
pub(crate) const MOST_RANGES: usize = 10_000;
/// The largest whole number that every reader of JSON keeps exactly, as a power of two.
pub(crate) const HIGHEST_NUMBER: u64 = 1 << 53;

/// Packets by their numbers in their direction, from `first` to `last`, and a value for each of them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Range {
    /// The number of the first packet.
    pub first: u64,
    /// The number of the last packet, which belongs to the range.
    pub last: u64,
    /// The value; 0 where the parameter has none.
    pub value: u64,
}

impl Range {
    /// How many packets it names.
    #[must_use]
    pub fn packets(&self) -> u64 {
        self.last - self.first + 1
    }
}

/// The range that a packet of that number is in; `ranges` are in order and apart.
#[must_use]
pub fn containing(ranges: &[Range], number: u64) -> Option<&Range> {
    let range = ranges.get(ranges.partition_point(|range| range.last < number))?;
    (range.first <= number).then_some(range)
}

/// Reads rows `[first, last]`, or `[first, last, value]` with a value within these bounds; None if they are anything
/// else, overlap or run backwards.
pub(crate) fn read(value: &Value, bounds: Option<(u64, u64)>) -> Option<Vec<Range>> {
    let rows = value.as_array().filter(|rows| rows.len() <= MOST_RANGES)?;
    let ranges: Vec<Range> = rows.iter().map(|row| read_one(row, bounds)).collect::<Option<_>>()?;
    ranges.windows(2).all(|pair| pair[0].last < pair[1].first).then_some(ranges)
}

fn read_one(row: &Value, bounds: Option<(u64, u64)>) -> Option<Range> {
    let numbers: Vec<u64> = row.as_array()?.iter().map(Value::as_u64).collect::<Option<_>>()?;
    let (first, last, value) = match (&numbers[..], bounds) {
        (&[first, last], None) => (first, last, 0),
        (&[first, last, value], Some((minimum, maximum))) if (minimum..=maximum).contains(&value) => {
            (first, last, value)
        }
        _ => return None,
    };
    (first <= last && last <= HIGHEST_NUMBER).then_some(Range { first, last, value })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_number_is_in_the_range_that_contains_it() {
        let ranges = read(&json!([[3, 3], [5, 8]]), None).expect("in order");
        let found: Vec<Option<u64>> =
            (0..10).map(|number| containing(&ranges, number).map(|range| range.first)).collect();
        assert_eq!(found, [None, None, None, Some(3), None, Some(5), Some(5), Some(5), Some(5), None]);
        assert_eq!(ranges.iter().map(Range::packets).sum::<u64>(), 5);
        assert_eq!(containing(&[], 0), None);
    }

    #[test]
    fn rows_out_of_order_or_of_another_form_are_none() {
        let wrong = [
            json!([[3, 5], [5, 6]]),
            json!([[5, 6], [1, 2]]),
            json!([[4, 3]]),
            json!([[1]]),
            json!([[1, 2, 3]]),
            json!([1, 2]),
            json!([[1, -2]]),
            json!([[0, HIGHEST_NUMBER + 1]]),
            json!("1-2"),
        ];
        for value in wrong {
            assert_eq!(read(&value, None), None, "{value}");
        }
        assert_eq!(read(&json!([[1, 2]]), Some((1, 9))), None);
        assert_eq!(read(&json!([[1, 2, 10]]), Some((1, 9))), None);
        assert_eq!(read(&json!([[1, 2, 9]]), Some((1, 9))), Some(vec![Range { first: 1, last: 2, value: 9 }]));
        assert_eq!(read(&json!(vec![[0, 0]; MOST_RANGES + 1]), None), None);
    }
}
