"""When a change has had enough rounds, and how often looking at it early misleads."""

from dataclasses import replace

import numpy as np
import pytest

from longlook.core.model import Analysis
from longlook.explain.attribution import Closed, Conclusion, Look, Parts, closed, concludes, is_firm, looks_at, share
from tests.data.gaps import RATIOS

ANALYSIS = Analysis()
MARGIN = float(np.log1p(ANALYSIS.margin_pct / 100))


@pytest.mark.parametrize(
    ("rounds", "tests", "looks"),
    [
        (10, 1, (10,)),
        (12, 1, (12,)),  # the first that could decide is the 11th
        (16, 1, (11, 13, 15, 16)),
        (16, 6, (16,)),
        (20, 6, (13, 15, 18, 20)),
        (2, 1, (2,)),
    ],
)
def test_rounds_are_looked_at_early_where_early_enough_they_can_decide(
    rounds: int, tests: int, looks: tuple[int, ...]
) -> None:
    assert looks_at(rounds, tests, ANALYSIS) == looks


def test_without_a_correction_the_number_of_tests_does_not_matter() -> None:
    assert looks_at(16, 6, replace(ANALYSIS, correction="none")) == (11, 13, 15, 16)


def test_a_verdict_is_firm_where_it_is_one_among_all_tests_and_an_advantage_is_not() -> None:
    small = ANALYSIS.alpha / 4
    for result, firm in (
        (Closed(12, None, 10.0, small, 1.0), True),
        (Closed(12, None, 0.0, 1.0, small), True),
        (Closed(12, None, 10.0, 0.5, 0.5, small), False),
        (Closed(12, None, 10.0, None, None), False),
    ):
        assert is_firm(result, 3, ANALYSIS) is firm
        assert not is_firm(result, 5, ANALYSIS)


def looked_at(gap: np.ndarray, closing: np.ndarray, alpha: float) -> tuple[Conclusion, int]:
    """Return what a change says that stops when it is firm, and after how many rounds."""
    analysis = replace(ANALYSIS, alpha=alpha)
    for count in (8, 10, 12, 14, 16, 19, 20):
        look = Look.LAST if count == len(gap) else Look.EARLY
        result = closed(Parts(gap[:count], (gap - closing)[:count], RATIOS), analysis, None, look)
        if look is Look.LAST or is_firm(result, 1, analysis):
            return concludes(result.p, result.p_none, alpha), count
    raise AssertionError("there is a last look")


@pytest.mark.parametrize(("mean", "wrong"), [(MARGIN, Conclusion.CONFIRMED), (1.01 * MARGIN, Conclusion.REFUTED)])
def test_looking_at_each_step_misleads_no_more_often_than_alpha(mean: float, wrong: Conclusion) -> None:
    random = np.random.default_rng(23)
    misled = 0
    for _ in range(800):
        gap = random.normal(0.5, 0.05, 20)
        misled += looked_at(gap, random.normal(mean, 0.03, 20), 0.05)[0] is wrong
    assert misled / 800 <= 0.05


def test_a_large_effect_and_none_at_all_are_decided_before_the_last_round() -> None:
    random = np.random.default_rng(24)
    gap = random.normal(0.5, 0.05, 20)
    conclusion, rounds = looked_at(gap, random.normal(0.3, 0.03, 20), 0.01)
    assert (conclusion, rounds) == (Conclusion.CONFIRMED, 12)
    conclusion, rounds = looked_at(gap, random.normal(0, 0.002, 20), 0.01)
    assert (conclusion, rounds) == (Conclusion.REFUTED, 12)


def test_the_share_of_a_change_that_stopped_early_holds_the_truth_wherever_it_stopped() -> None:
    """Stopped where the interval first leaves out the truth, if it ever does: the worst way to stop."""
    random = np.random.default_rng(25)
    missed = {Look.EARLY: 0, Look.FIXED: 0}
    for _ in range(400):
        gap = random.normal(0.3, 0.05, 40)
        part = 0.6 * gap + random.normal(0, 0.05, 40)
        for look in missed:
            for count in range(10, 41, 3):
                found = share(part[:count], gap[:count], 0.95, look)
                assert found is not None and found.ci_low_pct is not None and found.ci_high_pct is not None
                if not found.ci_low_pct <= 60 <= found.ci_high_pct:
                    missed[look] += 1
                    break
    assert missed[Look.EARLY] / 400 <= 0.05
    assert missed[Look.FIXED] / 400 > 0.1  # an ordinary interval does not survive this
