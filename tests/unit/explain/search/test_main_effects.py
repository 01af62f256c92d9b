"""Main effects of a screening: what they estimate, how often they are wrong, and what failed trials do to them."""

import math

import numpy as np
import pytest
from scipy import stats

from longlook.explain.search.screening_design import least_found, main_effects, plackett_burman, unusable

MARGIN = math.log1p(0.03)


def observed(
    signs: np.ndarray, closes: dict[int, float], rounds: int = 3, noise: float = 0.0, seed: int = 1
) -> np.ndarray:
    """Gaps of 1, of which factors close their parts, with rounds that differ and noise of each trial."""
    random = np.random.default_rng(seed)
    gaps = np.full((rounds, len(signs)), 1.0) + random.normal(0, 0.2, (rounds, 1))
    for factor, part in closes.items():
        gaps = gaps - part * (signs[:, factor] > 0)
    return gaps + random.normal(0, noise, gaps.shape)


def test_without_noise_each_factor_closes_what_it_closes() -> None:
    signs = plackett_burman(11)
    found = main_effects(signs, observed(signs, {2: 0.9, 7: 0.01, 4: -0.3}), MARGIN)
    assert found is not None
    assert [round(effect.closed, 9) for effect in found] == [0, 0, 0.9, 0, -0.3, 0, 0, 0.01, 0, 0, 0]
    assert [effect.p for effect in found] == [1, 1, 0, 1, 1, 1, 1, 1, 1, 1, 1]


def test_with_noise_the_test_is_that_of_a_general_linear_model_with_rounds_as_blocks() -> None:
    """For N runs in r rounds an effect has variance 4 s²/(Nr), s² the mean square of run by round."""
    signs = plackett_burman(7)
    gaps = observed(signs, {3: 0.4}, noise=0.1)
    found = main_effects(signs, gaps, MARGIN)
    assert found is not None
    closed = gaps[:, signs[:, 3] < 0].mean() - gaps[:, signs[:, 3] > 0].mean()
    residual = gaps - gaps.mean(axis=0) - gaps.mean(axis=1, keepdims=True) + gaps.mean()
    error = math.sqrt(4 * (residual**2).sum() / 14 / gaps.size)
    assert found[3].closed == pytest.approx(closed)
    assert found[3].p == pytest.approx(float(stats.t.sf((closed - MARGIN) / error, 14)))


@pytest.mark.parametrize(("factors", "rounds"), [(7, 2), (11, 3), (16, 3)])
def test_where_nothing_matters_more_than_the_margin_suspects_are_as_rare_as_the_level(
    factors: int, rounds: int
) -> None:
    """Each factor closes just the margin, the worst case; after Holm's correction any suspect at all is wrong."""
    signs, level, wrong, screenings = plackett_burman(factors), 0.05, 0, 1000
    for seed in range(screenings):
        gaps = observed(signs, dict.fromkeys(range(factors), MARGIN), rounds, 0.1, seed)
        found = main_effects(signs, gaps, MARGIN)
        assert found is not None
        wrong += factors * min(effect.p for effect in found) < level  # Holm's first step
    assert 0.03 < wrong / screenings <= 0.065


def test_a_run_that_failed_is_left_out_and_the_others_still_tell() -> None:
    signs = plackett_burman(5)
    gaps = observed(signs, {1: 0.5})
    gaps[1, 0] = math.nan
    found = main_effects(signs, gaps, MARGIN)
    assert found is not None
    assert [round(effect.closed, 9) for effect in found] == [0, 0.5, 0, 0, 0]


def test_too_many_failed_runs_tell_nothing() -> None:
    signs = plackett_burman(7)
    gaps = observed(signs, {})
    gaps[0, 0] = math.nan
    assert main_effects(signs, gaps, MARGIN) is None
    assert main_effects(signs, np.full((2, 8), math.nan), MARGIN) is None


def test_a_level_with_which_every_trial_fails_is_named() -> None:
    signs = plackett_burman(11)
    gaps = observed(signs, {}, rounds=1)
    assert unusable(signs, gaps) == []
    gaps[:, signs[:, 4] > 0] = math.nan
    assert unusable(signs, gaps) == [4]


def test_of_two_levels_that_fail_together_the_later_is_named() -> None:
    signs = plackett_burman(11)
    gaps = observed(signs, {}, rounds=1)
    gaps[:, (signs[:, 2] > 0) & (signs[:, 9] > 0)] = math.nan
    assert unusable(signs, gaps) == [9]
    gaps = observed(signs, {}, rounds=1)
    gaps[:, 3] = math.nan
    assert unusable(signs, gaps) == []


def test_the_smallest_effect_that_a_design_finds_is_found_as_often_as_it_says() -> None:
    """Of one factor that closes so much, Holm's first step finds it in about eight of ten screenings."""
    signs, found, screenings = plackett_burman(7), 0, 500
    for seed in range(screenings):
        first = observed(signs, {}, 3, 0.1, seed)
        least = least_found(signs, first, MARGIN, 0.05, 3)
        assert least is not None
        effects = main_effects(signs, observed(signs, {3: least}, 3, 0.1, 10_000 + seed), MARGIN)
        assert effects is not None
        found += effects[3].p * 7 < 0.05
    assert 0.7 < found / screenings < 0.9


def test_more_rounds_find_smaller_effects_and_a_failed_run_leaves_it_open() -> None:
    signs = plackett_burman(7)
    gaps = observed(signs, {}, 2, 0.1)
    few, more = (least_found(signs, gaps, MARGIN, 0.05, rounds) for rounds in (3, 10))
    assert few is not None and more is not None and more < few
    gaps[0, 0] = math.nan
    assert least_found(signs, gaps, MARGIN, 0.05, 3) is None
    assert least_found(signs, gaps[1:], MARGIN, 0.05, 3) is None
