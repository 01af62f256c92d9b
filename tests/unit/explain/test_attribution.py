"""How much of a gap a change closes, and what may be concluded from it."""

import numpy as np
import pytest

from longlook.core.model import Analysis
from longlook.explain.attribution import Conclusion, closed, monotone, share

ANALYSIS = Analysis()


def test_a_change_that_closes_all_has_a_share_of_100_percent() -> None:
    gap = np.array([0.2, 0.25, 0.3, 0.22, 0.27])
    found = share(gap, gap, 0.95)
    assert found is not None
    assert found.share_pct == pytest.approx(100)
    assert found.ci_low_pct == pytest.approx(100)
    assert found.ci_high_pct == pytest.approx(100)


def test_a_gap_of_zero_has_no_shares() -> None:
    assert share(np.array([0.1, 0.2]), np.array([0.1, -0.1]), 0.95) is None


def test_the_interval_has_no_bounds_where_the_gap_cannot_be_told_from_zero() -> None:
    found = share(np.array([0.1, 0.2, 0.15]), np.array([1.0, -1.2, 0.9]), 0.95)
    assert found is not None
    assert (found.ci_low_pct, found.ci_high_pct) == (None, None)


def test_fieller_intervals_hold_the_true_share_as_often_as_they_say() -> None:
    random = np.random.default_rng(7)
    held = 0
    for _ in range(2000):
        gap = random.normal(0.3, 0.1, 10)
        part = 0.6 * gap + random.normal(0, 0.05, 10)
        found = share(part, gap, 0.95)
        assert found is not None and found.ci_low_pct is not None and found.ci_high_pct is not None
        held += found.ci_low_pct <= 60 <= found.ci_high_pct
    assert 0.935 <= held / 2000 <= 0.965


def test_a_change_that_closes_more_than_the_margin_is_confirmed() -> None:
    random = np.random.default_rng(1)
    gap = random.normal(0.5, 0.05, 10)
    result = closed(gap, gap - random.normal(0.4, 0.02, 10), ANALYSIS)
    assert result.concludes(result.p, ANALYSIS.alpha) is Conclusion.CONFIRMED
    assert result.share is not None and 70 < result.share.share_pct < 90


def test_a_change_that_moves_the_gap_the_wrong_way_is_never_confirmed() -> None:
    random = np.random.default_rng(2)
    gap = random.normal(0.5, 0.05, 10)
    result = closed(gap, gap + 0.4, ANALYSIS)
    assert result.concludes(result.p, ANALYSIS.alpha) is Conclusion.INCONCLUSIVE
    assert result.closed_pct < 0


def test_a_change_without_a_difference_is_refuted_also_where_nothing_varies() -> None:
    random = np.random.default_rng(3)
    gap = random.normal(0.5, 0.05, 10)
    noisy = closed(gap, gap + random.normal(0, 0.002, 10), ANALYSIS)
    assert noisy.concludes(noisy.p, ANALYSIS.alpha) is Conclusion.REFUTED
    same = closed(gap, gap.copy(), ANALYSIS)
    assert same.concludes(same.p, ANALYSIS.alpha) is Conclusion.REFUTED


def test_a_change_by_the_same_in_every_round_is_confirmed_without_variance() -> None:
    gap = np.full(10, 0.5)
    result = closed(gap, gap - 0.3, ANALYSIS)
    assert result.p == 0
    assert result.concludes(result.p, ANALYSIS.alpha) is Conclusion.CONFIRMED


def test_a_response_to_a_dose_is_monotone_with_three_doses_and_ties() -> None:
    assert monotone([1.0, 2.0, 2.0], [10, 20, 30])
    assert monotone([3.0, 2.0, 1.0], [10, 20, 30])
    assert not monotone([1.0, 3.0, 2.0], [10, 20, 30])
    assert not monotone([1.0, 2.0], [10, 20])
    assert not monotone([1.0, 1.0, 1.0], [10, 20, 30])
