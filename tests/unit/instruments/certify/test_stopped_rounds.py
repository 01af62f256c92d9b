"""Sequences of rounds that stop when they decide: where they stop, and their rates on made-up rounds."""

import numpy as np

from longlook.analysis.stats import sequential
from longlook.core.model import Analysis, Verdict
from longlook.instruments.certify.rates import RateFinding
from longlook.instruments.certify.stopped_rounds import rounds_needed, run_until_decided, sequential_rates
from longlook.study.build import MOST_DECIDING
from tests.data.certification import normal, plain, skewed

ANALYSIS = Analysis()


def test_a_clear_difference_stops_soon_and_none_goes_on_to_the_end() -> None:
    (slower,), (same,) = normal(1, 60, 0.01, mean=-0.5), normal(1, 60, 1.0)
    clear = run_until_decided(slower, slower, ANALYSIS)
    assert (clear.verdict, clear.rounds) == (Verdict.WORSE, 12)  # the second look: half of alpha is kept for the last
    noisy = run_until_decided(same, same, ANALYSIS)
    assert (noisy.verdict, noisy.rounds) == (Verdict.INCONCLUSIVE, 60)


def test_the_conclusion_is_that_of_the_rounds_until_the_stop() -> None:
    (population,) = normal(1, 60, 0.05, mean=-0.1)
    rounds = population.advantages
    stopped = run_until_decided(population, population, ANALYSIS)
    assert stopped.paired == sequential.paired(
        rounds[: stopped.rounds], np.log1p(0.03), 0.95, last=stopped.rounds == len(rounds)
    )
    assert (stopped.truth, stopped.median) == (population.mean, np.median(rounds))


def test_looking_again_and_again_keeps_the_levels() -> None:
    rates = sequential_rates(plain(5, 20), normal(4, 200, 0.02, mean=-0.06), ANALYSIS, seed=1, paths=6)
    assert [rate.trials for rate in rates] == [30, 24, 24, 24, 48]
    assert all(rate.finding is not RateFinding.MISSED for rate in rates)


def test_what_no_rounds_show_is_not_held() -> None:
    twin, _, mean, median, _ = sequential_rates(skewed(3, 100), skewed(3, 100), ANALYSIS, seed=1, paths=8)
    assert twin.finding is not RateFinding.MISSED  # arms that are alike are symmetric, whatever their law
    assert mean.share < 0.95
    assert median.finding is not RateFinding.MISSED


def test_fewer_rounds_are_needed_for_a_larger_difference() -> None:
    needed = rounds_needed(normal(3, 100, 0.03), ANALYSIS, seed=1, paths=3)
    assert list(needed) == ["0", "5", "10"]
    assert ANALYSIS.min_rounds <= needed["10"] < needed["5"] <= MOST_DECIDING
