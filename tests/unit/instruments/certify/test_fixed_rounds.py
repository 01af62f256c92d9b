"""Rates of the procedures on rounds whose truth is known by construction; all is seeded, no test fails by chance."""

import math
from dataclasses import replace

import numpy as np
import pytest
from scipy import stats

from longlook.analysis.stats.procedures import Floats, Paired, margin
from longlook.core.model import Analysis
from longlook.instruments.certify import fixed_rounds, populations
from longlook.instruments.certify.fixed_rounds import (
    coverage,
    coverage_by_population,
    equivalence_at_margin,
    false_verdicts,
    heatmaps,
    moved_by,
    power,
    smallest_found,
)
from longlook.instruments.certify.rates import Rate, RateFinding
from tests.data.certification import normal, plain, skewed

ANALYSIS = Analysis()


def by_event(rates: list[Rate], event: str) -> Rate:
    (rate,) = [rate for rate in rates if rate.event == event]
    return rate


def test_an_arm_against_itself_is_called_different_at_the_nominal_rate() -> None:
    rates = false_verdicts(plain(600, 10, spread=0.2), ANALYSIS, "a against a")
    for event, level in (("verdict better or worse", 0.01), ("p < 0.05", 0.05)):
        rate = by_event(rates, event)
        assert (rate.trials, rate.nominal, rate.finding) == (600, level, RateFinding.COMPATIBLE)
    assert by_event(rates, "verdict equivalent").events == 0  # the noise is far above the margin


def test_arms_that_do_not_vary_are_equivalent() -> None:
    same = [populations.Population("a", "a", np.zeros(10))] * 3
    assert by_event(false_verdicts(same, ANALYSIS, "a against a"), "verdict equivalent").events == 3


def test_a_test_that_calls_everything_different_is_found_out(monkeypatch: pytest.MonkeyPatch) -> None:
    def careless(advantage: Floats, _margin: float, _confidence: float, *, skewed: bool = True) -> Paired:
        mean = float(np.mean(advantage))
        low, high = sorted((0.9 * mean, 1.1 * mean))
        return Paired(mean, low, high, 0.001, 1.0, constant=False)

    monkeypatch.setattr(populations.verdicts, "__defaults__", (careless,))
    monkeypatch.setattr(populations.one_verdict, "__defaults__", (careless,))
    rates = false_verdicts(plain(50, 10), ANALYSIS, "a against a")
    assert by_event(rates, "verdict better or worse").finding is RateFinding.MISSED


def test_intervals_of_normal_rounds_hold_the_truth_at_the_nominal_rate() -> None:
    rates = coverage(normal(12, 400, mean=-0.2), ANALYSIS, seed=1, draws=25)
    held = [rate for rate in rates if rate.event == "holds the true effect"]
    assert [rate.procedure for rate in held] == ["interval, 10 rounds", "interval, 20 rounds"]
    assert all(rate.finding is not RateFinding.MISSED and rate.trials == 300 for rate in rates)
    assert len(rates) == 8
    for rate in held:
        sides = [other for other in rates if other.procedure == rate.procedure and other is not rate]
        assert len(sides) == 2
        assert rate.events + sum(side.events for side in sides) == rate.trials


def test_intervals_of_rounds_with_rare_timeouts_miss_it_and_each_cell_says_so() -> None:
    """Of ten rounds 60 % hold no timeout at all, and no interval can know of it."""
    cells = skewed(4, 60)
    rate = coverage(cells, ANALYSIS, seed=1, draws=25)[0]
    assert rate.finding is RateFinding.MISSED
    assert rate.share == pytest.approx(1 - 0.95**10, abs=0.12)
    first = next(coverage_by_population(cells, ANALYSIS, seed=1, draws=25))
    assert (first.rounds, first.population) == (10, "skewed, cell 0")
    assert first.skewness == pytest.approx(stats.skew(cells[0].advantages))


def test_equivalence_is_claimed_wrongly_at_the_nominal_rate_at_the_margin() -> None:
    rates = equivalence_at_margin(plain(80, 10, 0.002), normal(8, 200, 0.002), ANALYSIS, seed=1, draws=10)
    assert [rate.trials for rate in rates] == [160, 160, 160]
    assert all(rate.nominal == pytest.approx(0.05) and rate.finding is not RateFinding.MISSED for rate in rates)
    assert all(rate.events > 0 for rate in rates)


def test_a_difference_that_is_the_same_in_all_rounds_is_not_equivalent_at_the_margin() -> None:
    (rate,) = equivalence_at_margin([populations.Population("a", "a", np.zeros(10))], [], ANALYSIS, 1, 10)
    assert (rate.events, rate.trials) == (0, 2)


def test_whole_heatmaps_keep_the_level_of_one_test() -> None:
    (rate,) = heatmaps(plain(60, 10, spread=0.2), ANALYSIS, seed=1, count=60)
    assert (rate.trials, rate.finding) == (60, RateFinding.COMPATIBLE)
    (loose,) = heatmaps(plain(60, 10, spread=0.2), Analysis(alpha=0.05, correction="none"), seed=1, count=40)
    assert loose.finding is RateFinding.MISSED
    assert loose.share == pytest.approx(1 - 0.95**21, abs=0.2)


def test_power_is_that_of_the_t_test() -> None:
    spread, rounds = 0.01, 10
    cells = moved_by(normal(6, 400, spread), (1.0,))
    table = power("moved", cells, ANALYSIS, seed=1, draws=40)
    shift = math.log(1.01) * math.sqrt(rounds) / spread
    quantile = stats.t.ppf(1 - ANALYSIS.alpha / 2, rounds - 1)
    expected = stats.nct.sf(quantile, rounds - 1, shift)
    (found,) = [item for item in table if item.rounds == rounds]
    assert found.rate.low < expected < found.rate.high
    assert found.effect_pct == pytest.approx(-1.0)


def test_the_smallest_difference_is_that_found_in_four_of_five() -> None:
    table = power("moved", moved_by(normal(2, 100, 0.01), (0.2, 1.0, 2.0)), ANALYSIS, seed=1, draws=25)
    smallest = smallest_found(table)
    at_10, at_40 = smallest["moved", 10], smallest["moved", 40]
    assert at_10 is not None
    assert at_40 is not None
    assert (at_10.difference_pct, at_40.difference_pct) == (2.0, 1.0)
    assert smallest_found(power("moved", moved_by(normal(2, 100), (0.01,)), ANALYSIS, 1, 10)) == {
        ("moved", rounds): None for rounds in fixed_rounds.POWER_SIZES
    }


def test_a_difference_in_the_wrong_direction_is_not_found() -> None:
    table = power("delay", {5.0: normal(1, 60, 0.001, mean=0.05)}, ANALYSIS, seed=1, draws=5)
    assert all(item.rate.events == 0 for item in table)


def test_the_same_seed_gives_the_same_rates_whatever_else_is_there() -> None:
    few, many = (list(coverage_by_population(normal(count, 60), ANALYSIS, 3, 10)) for count in (2, 4))
    assert few[0] == many[0]
    assert few[0] == next(coverage_by_population(normal(1, 60), ANALYSIS, 3, 10))


def test_the_margin_is_that_of_the_study() -> None:
    narrow = equivalence_at_margin(plain(5, 10, 1e-6), [], Analysis(equivalence_margin_pct=1.0), 1, 1)
    assert narrow[0].finding is not RateFinding.MISSED
    assert margin(1.0, is_log=True) == pytest.approx(0.00995, rel=1e-3)


def test_with_random_loss_rare_timeouts_are_allowed_for_and_what_that_withholds_is_measured() -> None:
    cells = [replace(cell, losses=np.zeros(60)) for cell in skewed(4, 60)]
    rates = coverage(cells, ANALYSIS, seed=1, draws=25)
    assert len(rates) == 10
    assert by_event(rates[:5], "holds the true effect").finding is not RateFinding.MISSED
    withheld = by_event(rates[:5], "verdict withheld that these rounds alone would give")
    assert withheld.procedure == "paths with random loss, 10 rounds"
    assert withheld.finding is RateFinding.MEASURED
    assert 0 < withheld.share <= 1
