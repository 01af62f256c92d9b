"""Cliffs: what is found, what is not, and how often a flat cell is marked."""

import math

import numpy as np
import pytest

from longlook.analysis.stats.cliffs import Fit, fits, short_between
from longlook.analysis.stats.procedures import Floats
from longlook.core.dependence import Shape
from tests.data.samples import draws

MARGIN = math.log(1.03)
ALPHA = 0.01
SIZE, RTT = "workload.object_bytes", "network.rtt_ms"


def drawn(rounds: int, seed: int = 1) -> dict[str, Floats]:
    return {name: np.array(values) for name, values in draws(rounds, seed).items()}


def marked(found: list[Fit]) -> list[Fit]:
    return [fit for fit in found if fit.p < ALPHA and fit.p_beyond is not None and fit.p_beyond < ALPHA]


def above(values: Floats, split: float) -> Floats:
    return (values >= split).astype(np.float64)


def test_a_step_is_found_with_its_setting_its_place_and_both_effects() -> None:
    settings = drawn(40)
    noise = np.random.default_rng(7).normal(0, 0.002, 40)
    best = marked(fits(0.6 + 0.12 * above(settings[SIZE], 98e3) + noise, settings, MARGIN))[0]
    assert (best.setting, best.shape) == (SIZE, Shape.STEP)
    below, first = max(settings[SIZE][settings[SIZE] < 98e3]), min(settings[SIZE][settings[SIZE] >= 98e3])
    assert best.split is not None and below < best.split <= first
    assert (best.at_low, best.at_high) == (pytest.approx(0.6, abs=0.002), pytest.approx(0.72, abs=0.002))
    assert best.share > 0.98


def test_a_line_is_found_as_a_trend_with_the_effects_at_both_ends() -> None:
    settings = drawn(20)
    (best, *_) = marked(fits(0.5 - 0.02 * settings[RTT], settings, MARGIN))
    assert (best.setting, best.shape, best.split) == (RTT, Shape.TREND, None)
    assert best.at_low == pytest.approx(0.5 - 0.02 * min(settings[RTT]))
    assert best.at_high == pytest.approx(0.5 - 0.02 * max(settings[RTT]))


def test_a_real_step_within_the_margin_is_a_dependence_and_no_cliff() -> None:
    settings = drawn(40)
    best, *_ = found = fits(0.6 + 0.9 * MARGIN * above(settings[SIZE], 100e3), settings, MARGIN)
    assert (best.setting, best.p, best.p_beyond) == (SIZE, 1 / 2000, None)
    assert best.share == pytest.approx(1)
    assert marked(found) == []


def test_tiny_differences_without_noise_are_no_cliff() -> None:
    settings = drawn(40)
    assert marked(fits(0.6 + 1e-6 * above(settings[SIZE], 100e3), settings, MARGIN)) == []


def test_a_step_that_is_just_the_margin_is_not_marked_and_one_beyond_it_is() -> None:
    settings = drawn(40)
    step = above(settings[SIZE], 100e3)
    assert marked(fits(0.6 + MARGIN * step, settings, MARGIN)) == []
    assert marked(fits(0.6 + 1.01 * MARGIN * step, settings, MARGIN))


def test_a_step_and_a_trend_share_the_variance() -> None:
    settings = drawn(40)
    effect = 0.1 * above(settings[SIZE], 100e3) + 2 * (settings[RTT] / 36 - 1)
    shares = {fit.setting: fit.share for fit in fits(effect, settings, MARGIN)}
    assert 0.2 < shares[SIZE] < 0.8 and 0.2 < shares[RTT] < 0.8
    assert max(share for name, share in shares.items() if name not in (SIZE, RTT)) < 0.15


def test_a_share_is_the_adjusted_r_squared_where_only_a_line_is_possible() -> None:
    values = np.array([1.0, 1, 2, 2, 2, 2, 3, 3])  # a split leaves two rounds on one side
    effect = np.random.default_rng(5).normal(0, 1, 8) + values
    (fit,) = fits(effect, {"order": values}, MARGIN)
    adjusted = 1 - (1 - np.corrcoef(values, effect)[0, 1] ** 2) * 7 / 6
    assert fit.share == pytest.approx(adjusted, abs=0.02)


def test_ten_rounds_are_too_few_to_tell_a_step_from_chance() -> None:
    settings = drawn(10)
    best, *_ = fits(0.12 * above(settings[SIZE], np.median(settings[SIZE])), settings, MARGIN)
    assert best.setting == SIZE and best.p > ALPHA


@pytest.mark.parametrize("rounds", [0, 1, 5])
def test_few_rounds_have_no_fit(rounds: int) -> None:
    assert fits(np.linspace(0, 1, rounds), drawn(rounds), MARGIN) == []


def test_nothing_is_found_where_nothing_varies() -> None:
    assert fits(np.full(20, 0.5), drawn(20), MARGIN) == []
    assert fits(np.linspace(0, 1, 20), {SIZE: np.full(20, 1e5)}, MARGIN) == []
    assert fits(np.linspace(0, 1, 20), {}, MARGIN) == []


def test_other_units_and_the_other_sign_find_the_same() -> None:
    settings = drawn(30)
    effect = 0.1 * above(settings[SIZE], 99e3) + np.random.default_rng(3).normal(0, 0.03, 30)
    plain, scaled = fits(effect, settings, MARGIN), fits(effect, {n: v * 1000 for n, v in settings.items()}, MARGIN)
    turned = fits(-effect, settings, MARGIN)
    assert [(f.setting, f.shape, f.p, f.p_beyond) for f in plain] == [
        (f.setting, f.shape, f.p, f.p_beyond) for f in scaled
    ]
    assert [(f.p, f.p_beyond, -f.at_low) for f in plain] == [(f.p, f.p_beyond, f.at_low) for f in turned]
    assert [f.share for f in plain] == pytest.approx([f.share for f in scaled])


@pytest.mark.parametrize(
    ("name", "noise"),
    [
        ("normal", lambda generator: generator.normal(0, 0.05, 20)),
        ("heavy tails", lambda generator: 0.05 * generator.standard_t(2, 20)),
        ("rare outliers", lambda generator: 0.3 * (generator.random(20) < 0.1) + generator.normal(0, 0.001, 20)),
        ("two values", lambda generator: 0.12 * (generator.random(20) < 0.5)),
    ],
)
def test_a_cell_that_depends_on_nothing_is_marked_at_most_at_the_level(name: str, noise: object) -> None:
    generator = np.random.default_rng(1)
    cells = [fits(noise(generator), drawn(20, seed), MARGIN) for seed in range(500)]  # type: ignore[operator]
    assert sum(min(fit.p for fit in found) < ALPHA for found in cells if found) <= 11, name  # 99.5 % of binomial
    assert sum(bool(marked(found)) for found in cells) <= 11, name
    assert sum(min(fit.p for fit in found) < 0.2 for found in cells if found) > 60, name  # the test is not idle


def test_a_noisy_step_as_large_as_the_margin_is_marked_at_most_at_the_level() -> None:
    generator = np.random.default_rng(2)
    wrong = 0
    for seed in range(300):
        settings = drawn(20, seed)
        effect = MARGIN * above(settings[SIZE], 100e3) + generator.normal(0, 0.01, 20)
        wrong += bool(marked(fits(effect, settings, MARGIN)))
    assert wrong <= 8


@pytest.mark.parametrize(("rounds", "least"), [(14, 60), (20, 97), (40, 99)])
def test_a_step_four_times_the_margin_is_marked_with_enough_rounds(rounds: int, least: int) -> None:
    generator = np.random.default_rng(3)
    right = 0
    for seed in range(100):
        settings = drawn(rounds, seed)
        effect = 4 * MARGIN * above(settings[SIZE], 99e3) + generator.normal(0, 0.01, rounds)
        found = marked(fits(effect, settings, MARGIN))
        right += bool(found) and found[0].setting == SIZE
    assert right >= least


@pytest.mark.parametrize(
    ("below", "first", "short"),
    [(98.41, 98.77, 98.6), (1.0, 3.0, 2.0), (95210.0, 97900.0, 97000.0), (1.0, math.nextafter(1.0, 2.0), None)],
)
def test_a_split_is_written_with_few_digits(below: float, first: float, short: float | None) -> None:
    found = short_between(below, first)
    assert below < found <= first
    assert short is None or found == short
