"""Sequential tests and intervals: their formulas, and how often looking after every round deceives them."""

import math
from collections.abc import Callable

import numpy as np
import pytest
from scipy import integrate, stats

from longlook.analysis.stats import sequential
from longlook.analysis.stats.procedures import Floats

LAWS: dict[str, Callable[[np.random.Generator, tuple[int, int]], Floats]] = {
    "normal": lambda random, size: random.normal(size=size),
    "t of 3 degrees": lambda random, size: random.standard_t(3, size=size),
    "uniform": lambda random, size: random.uniform(-1, 1, size),
    "two points": lambda random, size: random.integers(0, 2, size) - 0.5 + random.normal(0, 0.02, size),
    "ties": lambda random, size: random.choice([-1.0, 0.0, 1.0], p=[0.1, 0.8, 0.1], size=size),
    "exponential": lambda random, size: random.exponential(size=size) - 1,
}


def scaled(count: int, spread: float = 1.0) -> Floats:
    """Return values of mean 0 and of this standard deviation."""
    draws = np.random.default_rng(count).normal(size=count)
    return np.asarray((draws - draws.mean()) / draws.std(ddof=1) * spread, np.float64)


@pytest.mark.parametrize(("count", "radius"), [(7, 2.11), (10, 1.28), (15, 0.92), (20, 0.76), (40, 0.51)])
def test_the_interval_of_the_mean_has_the_published_width(count: int, radius: float) -> None:
    values = scaled(count)
    assert sequential._radius(values, math.log(20)) == pytest.approx(radius, abs=0.005)
    at_the_end = sequential._log_e_mean(values, -sequential._radius(values, math.log(20)))
    assert at_the_end == pytest.approx(math.log(20))


def test_the_e_process_of_the_mean_is_the_mixture_it_is_said_to_be() -> None:
    """The ratio of the noncentral to the central density of t, averaged over a normal effect size."""
    values, value = scaled(12) + 0.4, 0.0
    statistic = float(np.mean(values) / np.std(values, ddof=1) * math.sqrt(12))

    def weighted(effect: float) -> float:
        density = stats.nct.pdf(statistic, 11, effect * math.sqrt(12)) / stats.t.pdf(statistic, 11)
        return float(density * stats.norm.pdf(effect, scale=sequential.PRECISION**-0.5))

    mixture, _ = integrate.quad(weighted, -8, 8)
    assert sequential._log_e_mean(values, value) == pytest.approx(math.log(mixture), abs=1e-4)


def test_the_e_process_of_the_median_is_fair_however_it_is_continued() -> None:
    """Its mean over the next flip of a fair coin is what it is now: a martingale."""
    for count in range(12):
        for hits in range(count + 1):
            now = math.exp(sequential._log_e_median(hits, count - hits, count))
            after = [sequential._log_e_median(hits + up, count - hits + 1 - up, count + 1) for up in (0, 1)]
            assert sum(map(math.exp, after)) / 2 == pytest.approx(now)


def test_a_tie_is_no_evidence_for_either_side() -> None:
    one_sided = sequential._log_e_median(6, 0, 6)
    assert sequential._log_e_median(6, 0, 8) < one_sided
    assert sequential._log_e_median(0, 0, 30) < 0


def test_interval_and_p_value_agree() -> None:
    random = np.random.default_rng(3)
    for _ in range(300):
        count, confidence = int(random.integers(8, 50)), float(random.uniform(0.5, 0.995))
        values = random.normal(random.normal(), 1, count).round(1)  # with ties
        low, high = sequential.interval(values, confidence)
        value = float(random.normal())
        if low is not None and high is not None:
            assert (sequential.p_above(values, value) < 1 - confidence) is (low > value)
            assert (sequential.p_above(-values, -value) < 1 - confidence) is (high < value)


def test_it_has_no_bound_while_there_are_too_few_rounds() -> None:
    assert sequential.interval(scaled(6), 0.95) == (None, None)
    assert sequential.interval(np.ones(6), 0.95) == (None, None)
    assert sequential.interval(np.ones(7), 0.95) == (1.0, 1.0)
    found = sequential.paired(np.array([0.2]), 0.03, 0.95)
    assert (found.low, found.high, found.p, found.p_equivalence) == (None, None, 1.0, 1.0)


def test_equal_advantages_decide_only_when_a_coin_would_have_to_be_very_lucky() -> None:
    p = [sequential.p_above(np.full(count, 0.3), 0.0) for count in (4, 7, 10, 20)]
    assert p == sorted(p, reverse=True)
    assert p[2] == pytest.approx(0.0055, abs=0.0001)
    assert sequential.paired(np.zeros(10), 0.03, 0.95).p_equivalence == pytest.approx(p[2])


def test_swapping_the_arms_mirrors_it() -> None:
    values = np.random.default_rng(5).gamma(2, 1, 25)
    one, two = sequential.paired(values, 0.1, 0.9), sequential.paired(-values, 0.1, 0.9)
    assert None not in (one.low, one.high, two.low, two.high)
    assert [one.low, one.high] == pytest.approx([-two.high, -two.low])  # type: ignore[operator]
    assert (one.p, one.p_equivalence) == (pytest.approx(two.p), pytest.approx(two.p_equivalence))


def false_stops(law: str, count: int = 600, most: int = 40) -> float:
    """Return how often the mean is refuted at 5 % by looks after every round from the tenth on."""
    draws = LAWS[law](np.random.default_rng(17), (count, most))
    return sum(
        any(
            min(sequential.p_above(rounds[:n], 0.0), sequential.p_above(-rounds[:n], 0.0)) < 0.05
            for n in range(10, most + 1)
        )
        for rounds in draws
    ) / count  # fmt: skip


@pytest.mark.parametrize("law", ["normal", "t of 3 degrees", "uniform", "two points", "ties"])
def test_looking_after_every_round_keeps_the_level(law: str) -> None:
    assert false_stops(law) <= 0.02


def test_a_skewed_law_keeps_it_nearly() -> None:
    """By the mean's e-process alone it would be 0.08."""
    assert false_stops("exponential") <= 0.06


def test_failing_more_is_told_at_any_time() -> None:
    assert sequential.p_more(0, 0) == pytest.approx(1)
    assert sequential.p_more(7, 0) == pytest.approx(0.0187, abs=1e-4)
    assert sequential.p_more(0, 20) == pytest.approx(1)
    flips = np.random.default_rng(2).integers(0, 2, (1000, 60)).cumsum(axis=1)
    lucky = [any(sequential.p_more(int(k), n + 1 - int(k)) < 0.05 for n, k in enumerate(row)) for row in flips]
    assert np.mean(lucky) <= 0.05
