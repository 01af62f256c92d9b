//! Whether what was counted fits a law. Seeds are fixed, so a test that passes always passes.

/// The normal quantile of 0.999.
const FAR: f64 = 3.09;

/// Asserts that counts fit their expectations: Pearson's χ², at 0.001. The classes cover everything, so the last one
/// counts for no degree of freedom.
#[track_caller]
pub fn assert_fits(observed: &[u64], expected: &[f64]) {
    assert!(expected.iter().all(|count| *count >= 5.0), "classes too small for the test: {expected:?}");
    let parts = observed.iter().zip(expected).map(|(&count, expected)| (count as f64 - expected).powi(2) / expected);
    let (statistic, limit) = (parts.sum::<f64>(), limit(observed.len() - 1));
    assert!(statistic < limit, "χ² = {statistic:.1} above {limit:.1}: {observed:?}, expected {expected:?}");
}

/// The 0.999 quantile of χ², by Wilson and Hilferty (1931).
fn limit(degrees: usize) -> f64 {
    let degrees = degrees as f64;
    let part = 2.0 / (9.0 * degrees);
    degrees * (1.0 - part + FAR * part.sqrt()).powi(3)
}

/// Asserts that a mean of `count` numbers of that variance is where it should be, within four standard errors.
#[track_caller]
pub fn assert_mean(mean: f64, expected: f64, variance: f64, count: usize) {
    let error = (variance / count as f64).sqrt();
    assert!((mean - expected).abs() < 4.0 * error, "{mean} instead of {expected} ± {error}");
}

pub fn share(all: &[bool]) -> f64 {
    all.iter().filter(|one| **one).count() as f64 / all.len() as f64
}

/// Lengths of the runs of `value`, without those that touch an end: one cannot know how long they are.
pub fn runs(all: &[bool], value: bool) -> Vec<usize> {
    let mut lengths: Vec<(bool, usize)> = Vec::new();
    for &one in all {
        match lengths.last_mut() {
            Some((last, length)) if *last == one => *length += 1,
            _ => lengths.push((one, 1)),
        }
    }
    let inner = lengths.get(1..lengths.len().saturating_sub(1)).unwrap_or_default();
    inner.iter().filter(|(one, _)| *one == value).map(|(_, length)| *length).collect()
}

/// Asserts that lengths are geometrically distributed from 1 on, with the given chance to end after each.
#[track_caller]
pub fn assert_geometric(lengths: &[usize], end: f64) {
    let total = lengths.len() as f64;
    // Classes of about equal chance, each with enough in it.
    let classes = 20.min(lengths.len() / 20);
    let longer = |length: usize| (1.0 - end).powi(length as i32);
    let mut bounds = vec![0];
    for class in 1..classes {
        let chance = class as f64 / classes as f64;
        let length = ((1.0 - chance).ln() / (1.0 - end).ln()).ceil() as usize;
        let last = *bounds.last().expect("not empty");
        if length > last {
            bounds.push(length);
        }
    }
    let mut observed = vec![0; bounds.len()];
    for length in lengths {
        observed[bounds.partition_point(|bound| bound < length) - 1] += 1;
    }
    let expected: Vec<f64> = bounds
        .iter()
        .enumerate()
        .map(|(class, &bound)| total * (longer(bound) - bounds.get(class + 1).map_or(0.0, |&next| longer(next))))
        .collect();
    assert!(observed.len() > 1, "one class tests nothing");
    assert_fits(&observed, &expected);
}
