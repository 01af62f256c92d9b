"""Advantages that repeat: exact tests and bounds, against independent formulas and in simulation."""

import numpy as np
import pytest
from scipy import stats

from longlook.analysis.stats import discrete
from longlook.analysis.stats.procedures import Floats


def test_a_count_repeats_and_a_time_does_not() -> None:
    assert discrete.repeats(np.array([1.0, -1.0, 3.0]))
    assert discrete.repeats(np.array([0.0, 1.0, 3.0]))
    assert discrete.repeats(np.zeros(3))
    assert not discrete.repeats(np.array([0.1, -0.2, 0.35]))


@pytest.mark.parametrize(("plus", "minus", "zero"), [(7, 1, 2), (5, 0, 5), (3, 3, 0), (10, 0, 0)])
def test_of_zeros_and_ones_the_flips_are_the_exact_mcnemar_test(plus: int, minus: int, zero: int) -> None:
    advantage = np.array([1.0] * plus + [-1.0] * minus + [0.0] * zero)
    expected = stats.binomtest(plus, plus + minus, 0.5).pvalue
    assert discrete.p_flipped(advantage) == pytest.approx(expected)


def test_beyond_the_exact_rounds_the_flips_are_drawn() -> None:
    advantage = np.array([1.0] * 11 + [-1.0] * 3 + [0.0] * 6)
    expected = stats.binomtest(11, 14, 0.5).pvalue
    assert discrete.p_flipped(advantage) == pytest.approx(expected, rel=0.1)
    assert discrete.p_flipped(np.ones(30)) == pytest.approx(1 / 20_000)  # never 0


@pytest.mark.parametrize(("events", "rounds"), [(2, 10), (9, 10), (10, 10), (7, 40)])
def test_of_zeros_and_ones_the_upper_bound_is_clopper_and_pearsons(events: int, rounds: int) -> None:
    found = discrete.paired(np.array([1.0] * events + [0.0] * (rounds - events)), 0.0, 0.95)
    exact = stats.binomtest(events, rounds).proportion_ci(0.95, method="exact")
    assert found.high == pytest.approx(exact.high, abs=0.01)
    assert found.low is not None and found.low <= exact.low + 0.01  # unseen rounds may be −1 as well as 0


def test_swapping_the_arms_mirrors_everything() -> None:
    advantage = np.array([3.0, 0.0, 1.0, 1.0, -2.0, 0.0, 1.0, 0.0, 2.0, 1.0])
    one, other = discrete.paired(advantage, 0.5, 0.95), discrete.paired(-advantage, 0.5, 0.95)
    assert (one.mean, one.p, one.p_equivalence) == (-other.mean, other.p, other.p_equivalence)
    assert one.low is not None and other.high is not None
    assert one.low == pytest.approx(-other.high)


def test_two_equal_draws_are_two_draws() -> None:
    two = discrete.paired(np.full(2, 0.3), 0.03, 0.95)
    assert (two.p, two.low, two.high, two.constant) == (0.5, None, None, False)
    ten = discrete.paired(np.full(10, 0.3), 0.03, 0.95)
    assert ten.p == 2 / 1024
    assert ten.low is not None and 0 < ten.low < 0.3 == ten.high


def test_equal_arms_are_equivalent_after_five_rounds_and_not_before() -> None:
    assert discrete.paired(np.zeros(4), 0.03, 0.95).p_equivalence == 1 / 16
    assert discrete.paired(np.zeros(5), 0.03, 0.95).p_equivalence == 1 / 32
    assert discrete.paired(np.zeros(10), 0.03, 0.95).p == 1


_LAWS = {
    "counts": (lambda g, n: (g.poisson(3, n) - g.poisson(1, n)).astype(float), 2.0),
    "rare counts, arms alike": (lambda g, n: (g.poisson(0.3, n) - g.poisson(0.3, n)).astype(float), 0.0),
    "nearly always": (lambda g, n: (g.random(n) < 0.9).astype(float), 0.9),
    "mostly 0, else exponential": (lambda g, n: (g.random(n) < 0.4) * g.exponential(1, n), 0.4),
}


@pytest.mark.parametrize("law", _LAWS)
@pytest.mark.parametrize("rounds", [10, 30])
def test_the_interval_holds_the_mean(law: str, rounds: int) -> None:
    draw, truth = _LAWS[law]
    generator = np.random.default_rng(7)
    held = [_holds(draw(generator, rounds), truth) for _ in range(200)]
    assert np.mean(held) > 0.92  # 95 % less 2 standard errors of 200 samples


def _holds(advantage: Floats, truth: float) -> bool:
    found = discrete.paired(advantage, 0.1, 0.95)
    return found.low is not None and found.high is not None and found.low <= truth <= found.high


def test_arms_that_are_alike_are_told_apart_at_the_level() -> None:
    generator = np.random.default_rng(11)
    p = [discrete.p_flipped((generator.poisson(1, 20) - generator.poisson(1, 20)).astype(float)) for _ in range(1000)]
    assert np.mean(np.array(p) < 0.05) < 0.066  # 5 % and 2.3 standard errors
    assert np.mean(np.array(p) < 0.01) < 0.018


def test_a_mean_at_the_margin_is_seldom_equivalent() -> None:
    generator = np.random.default_rng(13)
    found = [
        discrete.paired((generator.random(60) < 0.1).astype(float), 0.1, 0.95).p_equivalence or 0.0 for _ in range(200)
    ]
    assert np.mean(np.array(found) < 0.05) < 0.08
