//! Quantile functions: a law's value for a number uniform in (0, 1).
//!
//! They use `libm` in software instead of the platform's library, so that the same seed gives the same bits on every
//! processor.

/// Steps of [`open_unit`]: with one bit more, the half of the last one would be rounded up to 1.
const UNIT_BITS: u32 = 52;

/// A number uniform in (0, 1), never at an end, of 64 random bits.
#[must_use]
pub fn open_unit(bits: u64) -> f64 {
    const STEP: f64 = 1.0 / (1_u64 << UNIT_BITS) as f64;
    ((bits >> (u64::BITS - UNIT_BITS)) as f64 + 0.5) * STEP
}

/// Random bits whose [`open_unit`] is `probability`, to 2⁻⁵².
#[must_use]
pub fn bits_of(probability: f64) -> u64 {
    const STEPS: u64 = 1 << UNIT_BITS;
    ((probability * STEPS as f64) as u64).min(STEPS - 1) << (u64::BITS - UNIT_BITS)
}

/// The standard normal distribution function.
#[must_use]
pub fn normal_probability(deviate: f64) -> f64 {
    0.5 * libm::erfc(-deviate * std::f64::consts::FRAC_1_SQRT_2)
}

/// The standard normal quantile: algorithm AS 241, PPND16 (Wichura, Applied Statistics 37, 1988), to about 1e-16.
#[must_use]
#[expect(clippy::excessive_precision, reason = "the coefficients as they were published")]
pub fn normal_quantile(probability: f64) -> f64 {
    const CENTRE: ([f64; 8], [f64; 8]) = (
        [
            3.387_132_872_796_366_608,
            1.331_416_678_917_843_774_5e2,
            1.971_590_950_306_551_442_7e3,
            1.373_169_376_550_946_112_5e4,
            4.592_195_393_154_987_145_7e4,
            6.726_577_092_700_870_085_3e4,
            3.343_057_558_358_812_810_5e4,
            2.509_080_928_730_122_672_7e3,
        ],
        [
            1.0,
            4.231_333_070_160_091_125_2e1,
            6.871_870_074_920_579_083e2,
            5.394_196_021_424_751_107_7e3,
            2.121_379_430_158_659_586_7e4,
            3.930_789_580_009_271_061e4,
            2.872_908_573_572_194_267_4e4,
            5.226_495_278_852_545_925e3,
        ],
    );
    const MIDDLE: ([f64; 8], [f64; 8]) = (
        [
            1.423_437_110_749_683_577_34,
            4.630_337_846_156_545_295_9,
            5.769_497_221_460_691_405_5,
            3.647_848_324_763_204_605_04,
            1.270_458_252_452_368_382_58,
            2.417_807_251_774_506_117_7e-1,
            2.272_384_498_926_918_458_33e-2,
            7.745_450_142_783_414_076_4e-4,
        ],
        [
            1.0,
            2.053_191_626_637_758_821_87,
            1.676_384_830_183_803_849_4,
            6.897_673_349_851_000_045_5e-1,
            1.481_039_764_274_800_745_9e-1,
            1.519_866_656_361_645_719_66e-2,
            5.475_938_084_995_344_946e-4,
            1.050_750_071_644_416_843_24e-9,
        ],
    );
    const TAIL: ([f64; 8], [f64; 8]) = (
        [
            6.657_904_643_501_103_777_2,
            5.463_784_911_164_114_369_9,
            1.784_826_539_917_291_335_8,
            2.965_605_718_285_048_912_3e-1,
            2.653_218_952_657_612_309_3e-2,
            1.242_660_947_388_078_438_6e-3,
            2.711_555_568_743_487_578_15e-5,
            2.010_334_399_292_288_132_65e-7,
        ],
        [
            1.0,
            5.998_322_065_558_879_376_9e-1,
            1.369_298_809_227_358_053_1e-1,
            1.487_536_129_085_061_485_25e-2,
            7.868_691_311_456_132_591e-4,
            1.846_318_317_510_054_681_8e-5,
            1.421_511_758_316_445_888_7e-7,
            2.044_263_103_389_939_785_64e-15,
        ],
    );
    let centred = probability - 0.5;
    if centred.abs() <= 0.425 {
        return centred * ratio(&CENTRE, 0.180_625 - centred * centred);
    }
    let radius = libm::sqrt(-libm::log(if centred < 0.0 { probability } else { 1.0 - probability }));
    let size = if radius <= 5.0 { ratio(&MIDDLE, radius - 1.6) } else { ratio(&TAIL, radius - 5.0) };
    if centred < 0.0 { -size } else { size }
}

fn ratio((above, below): &([f64; 8], [f64; 8]), at: f64) -> f64 {
    let value = |coefficients: &[f64; 8]| coefficients.iter().rev().fold(0.0, |sum, next| sum * at + next);
    value(above) / value(below)
}

/// The quantile of a Pareto law of shape 3, moved and scaled to mean 0 and standard deviation 1, as netem's table is.
#[must_use]
pub fn standard_pareto_quantile(probability: f64) -> f64 {
    const MEAN: f64 = 1.5;
    const DEVIATION: f64 = 0.866_025_403_784_438_6; // √(3/4)
    (1.0 / libm::cbrt(1.0 - probability) - MEAN) / DEVIATION
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn normal_quantiles_are_those_of_tables() {
        for (probability, expected) in [
            (0.5, 0.0),
            (0.975, 1.959_963_984_540_054),
            (0.001, -3.090_232_306_167_813_5),
            (1e-10, -6.361_340_902_404_056),
        ] {
            assert!((normal_quantile(probability) - expected).abs() < 1e-12, "{probability}");
        }
    }

    #[test]
    fn quantile_and_probability_undo_each_other() {
        for number in 1..1_000 {
            let probability = f64::from(number) / 1_000.0;
            assert!((normal_probability(normal_quantile(probability)) - probability).abs() < 1e-14);
            assert!((open_unit(bits_of(probability)) - probability).abs() < 1e-15);
        }
        assert!(normal_quantile(open_unit(0)).is_finite() && normal_quantile(open_unit(u64::MAX)).is_finite());
        assert!(bits_of(1.0) < u64::MAX);
    }

    #[test]
    fn the_pareto_law_has_mean_zero_and_its_least_value() {
        assert!((standard_pareto_quantile(0.0) + 0.5 / 0.866_025_403_784_438_6).abs() < 1e-12);
        let count = 1_000_000;
        let mean = (0..count)
            .map(|number| standard_pareto_quantile((f64::from(number) + 0.5) / f64::from(count)))
            .sum::<f64>()
            / f64::from(count);
        assert!(mean.abs() < 1e-3, "{mean}");
    }
}
