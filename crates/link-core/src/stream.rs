//! Random streams, one for each stage.

use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{Rng, SeedableRng};

use crate::packet::DirectionName;

/// The longest kind that fits the key; a unit test holds every registered kind to it.
pub(crate) const MAX_KIND_BYTES: usize = 20;

/// The random numbers of one stage: `ChaCha8` keyed by (seed, direction, kind, occurrence).
///
/// The key spells those out one after the other instead of hashing them, so no two stages can share a stream, and the
/// occurrence counts stages of the same kind only, so that adding a stage of another kind disturbs none.
#[derive(Debug, Clone)]
pub struct Stream(ChaCha8Rng);

impl Stream {
    /// The stream of the `occurrence`-th stage (from 0) of `kind` in `direction`.
    #[must_use]
    pub fn new(seed: u64, direction: DirectionName, kind: &str, occurrence: u16) -> Self {
        Self::keyed(seed, direction, kind, occurrence, 0)
    }

    /// The stream from which a stage's parameter of that index is drawn over time.
    #[must_use]
    pub fn of_parameter(seed: u64, direction: DirectionName, kind: &str, occurrence: u16, index: u8) -> Self {
        Self::keyed(seed, direction, kind, occurrence, index + 1)
    }

    fn keyed(seed: u64, direction: DirectionName, kind: &str, occurrence: u16, purpose: u8) -> Self {
        let mut key = [0_u8; 32];
        key[..8].copy_from_slice(&seed.to_le_bytes());
        key[8] = direction as u8;
        key[9..11].copy_from_slice(&occurrence.to_le_bytes());
        key[11] = purpose;
        let kind = kind.as_bytes();
        let kind = &kind[..kind.len().min(MAX_KIND_BYTES)];
        key[12..12 + kind.len()].copy_from_slice(kind);
        Self(ChaCha8Rng::from_seed(key))
    }

    /// The next 64 random bits.
    pub fn bits(&mut self) -> u64 {
        self.0.next_u64()
    }

    /// A number uniform in [0, 1), a multiple of 2⁻⁵³.
    pub fn unit(&mut self) -> f64 {
        unit(self.bits())
    }
}

/// A number uniform in [0, 1), a multiple of 2⁻⁵³, of 64 random bits.
#[must_use]
pub fn unit(bits: u64) -> f64 {
    const STEP: f64 = 1.0 / (1_u64 << 53) as f64;
    (bits >> 11) as f64 * STEP
}

/// An integer uniform in [−`half_width`, +`half_width`] of 64 random bits; the bias is below (2·`half_width` + 1)/2⁶⁴.
///
/// `half_width` must be below 2⁶²: the parameters' bounds see to it.
#[must_use]
pub fn symmetric(bits: u64, half_width: u64) -> i64 {
    up_to(bits, half_width * 2) as i64 - half_width as i64
}

/// An integer uniform in [0, `maximum`] of 64 random bits; the bias is below (`maximum` + 1)/2⁶⁴.
#[must_use]
pub fn up_to(bits: u64, maximum: u64) -> u64 {
    let width = u128::from(maximum) + 1;
    ((u128::from(bits) * width) >> 64) as u64
}

/// Another number, as good as random, from a random one: the finaliser of `SplitMix64` (Steele et al., OOPSLA 2014).
#[must_use]
pub fn mix(number: u64) -> u64 {
    let once = (number ^ (number >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let twice = (once ^ (once >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    twice ^ (twice >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn head(direction: DirectionName, kind: &str, occurrence: u16) -> Vec<i64> {
        let mut stream = Stream::new(7, direction, kind, occurrence);
        (0..4).map(|_| symmetric(stream.bits(), 1 << 40)).collect()
    }

    #[test]
    fn streams_differ_in_every_part_of_their_name() {
        let streams = [
            head(DirectionName::Up, "loss", 0),
            head(DirectionName::Down, "loss", 0),
            head(DirectionName::Up, "jitter", 0),
            head(DirectionName::Up, "loss", 1),
            {
                let mut stream = Stream::of_parameter(7, DirectionName::Up, "loss", 0, 0);
                (0..4).map(|_| symmetric(stream.bits(), 1 << 40)).collect()
            },
        ];
        for (index, one) in streams.iter().enumerate() {
            assert!(streams[index + 1..].iter().all(|other| other != one));
        }
    }

    #[test]
    fn numbers_stay_the_same_across_releases() {
        // A change here changes the meaning of every seed that was ever published.
        assert_eq!(
            head(DirectionName::Up, "loss", 0),
            [-483_492_600_717, -945_932_898_058, 903_904_719_998, -596_802_966_233]
        );
    }

    #[test]
    fn symmetric_reaches_both_ends_and_nothing_beyond() {
        let mut stream = Stream::new(1, DirectionName::Up, "jitter", 0);
        let draws: Vec<i64> = (0..200).map(|_| symmetric(stream.bits(), 2)).collect();
        assert_eq!(draws.iter().min(), Some(&-2));
        assert_eq!(draws.iter().max(), Some(&2));
        assert!((0..50).all(|_| symmetric(stream.bits(), 0) == 0));
    }

    #[test]
    fn up_to_reaches_both_ends_and_nothing_beyond() {
        let mut stream = Stream::new(1, DirectionName::Up, "access", 0);
        let draws: Vec<u64> = (0..200).map(|_| up_to(stream.bits(), 3)).collect();
        assert_eq!(draws.iter().min(), Some(&0));
        assert_eq!(draws.iter().max(), Some(&3));
        assert!((0..50).all(|_| up_to(stream.bits(), 0) == 0));
    }
}
