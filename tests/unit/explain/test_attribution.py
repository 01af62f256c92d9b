"""How much of a gap a change closes, and what may be concluded from it."""

import numpy as np
import pytest

from longlook.core.model import Analysis
from longlook.explain.attribution import Conclusion, Parts, closed, concludes, monotone, share

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
    result = closed(Parts(gap, gap - random.normal(0.4, 0.02, 10)), ANALYSIS)
    assert concludes(result.p, result.p_none, ANALYSIS.alpha) is Conclusion.CONFIRMED
    assert result.share is not None and 70 < result.share.share_pct < 90


def test_a_change_that_moves_the_gap_the_wrong_way_is_never_confirmed() -> None:
    random = np.random.default_rng(2)
    gap = random.normal(0.5, 0.05, 10)
    result = closed(Parts(gap, gap + 0.4), ANALYSIS)
    assert concludes(result.p, result.p_none, ANALYSIS.alpha) is Conclusion.INCONCLUSIVE
    assert result.closed_pct < 0


def test_a_change_without_a_difference_is_refuted_also_where_nothing_varies() -> None:
    random = np.random.default_rng(3)
    gap = random.normal(0.5, 0.05, 10)
    noisy = closed(Parts(gap, gap + random.normal(0, 0.002, 10)), ANALYSIS)
    assert concludes(noisy.p, noisy.p_none, ANALYSIS.alpha) is Conclusion.REFUTED
    same = closed(Parts(gap, gap.copy()), ANALYSIS)
    assert concludes(same.p, same.p_none, ANALYSIS.alpha) is Conclusion.REFUTED


def test_a_change_by_the_same_in_every_round_is_confirmed_without_variance() -> None:
    gap = np.full(10, 0.5)
    result = closed(Parts(gap, gap - 0.3), ANALYSIS)
    assert result.p == 0
    assert concludes(result.p, result.p_none, ANALYSIS.alpha) is Conclusion.CONFIRMED


def test_where_packets_are_lost_at_random_a_change_needs_to_close_more_and_its_share_is_less_certain() -> None:
    random = np.random.default_rng(4)
    gap = random.normal(0.5, 0.05, 10)
    changed = gap - random.normal(0.4, 0.02, 10)
    certain, many, few = (closed(Parts(gap, changed), ANALYSIS, losses) for losses in (None, 100.0, 1.0))
    assert certain.share is not None and many.share is not None and few.share is not None
    assert certain.share.share_pct == many.share.share_pct == few.share.share_pct
    widths = [float(one.share.ci_high_pct) - float(one.share.ci_low_pct) for one in (certain, many, few)]  # type: ignore
    assert widths[0] < widths[1] < widths[2]
    assert certain.p is not None and many.p is not None and few.p is not None
    assert certain.p < many.p < few.p


def test_a_share_holds_a_loss_that_one_load_of_forty_meets_though_ten_rounds_often_miss_it() -> None:
    """One loss a load, at random; one round in forty meets the packet whose loss doubles the loser's time."""
    random = np.random.default_rng(5)
    held = {None: 0, 1.0: 0}
    true = 0.3 + np.log(2) / 40
    for _ in range(400):
        rare = np.where(random.random(10) < 1 / 40, np.log(2), 0.0)
        gap = random.normal(0.4, 0.02, 10) + rare
        kept = np.full(10, 0.1) + random.normal(0, 0.005, 10)
        for losses in held:
            found = closed(Parts(gap, kept), ANALYSIS, losses).share
            assert found is not None and found.ci_low_pct is not None and found.ci_high_pct is not None
            held[losses] += found.ci_low_pct <= 100 * true / (0.4 + np.log(2) / 40) <= found.ci_high_pct
    assert held[None] / 400 < 0.9
    assert held[1.0] / 400 >= 0.95


def test_a_change_that_changed_no_trial_is_refuted_on_a_path_that_loses_at_random() -> None:
    gap = np.random.default_rng(6).normal(0.5, 0.05, 10)
    same = closed(Parts(gap, gap.copy()), ANALYSIS, 1.0)
    assert concludes(same.p, same.p_none, ANALYSIS.alpha) is Conclusion.REFUTED


def test_a_response_to_a_dose_is_monotone_with_three_doses_and_ties() -> None:
    assert monotone([1.0, 2.0, 2.0], [10, 20, 30])
    assert monotone([3.0, 2.0, 1.0], [10, 20, 30])
    assert not monotone([1.0, 3.0, 2.0], [10, 20, 30])
    assert not monotone([1.0, 2.0], [10, 20])
    assert not monotone([1.0, 1.0, 1.0], [10, 20, 30])
    assert not monotone([16.0, 16.2, 16.4], [2, 4, 8])


def test_a_change_of_both_arms_is_seldom_confirmed_where_the_loser_gains_no_more_than_the_margin() -> None:
    """Whatever the winner loses by it: the larger p of both statements has the level of one (Berger 1982)."""
    random = np.random.default_rng(17)
    margin = np.log1p(ANALYSIS.margin_pct / 100)
    seen = {Conclusion.CONFIRMED: 0, Conclusion.ADVANTAGE: 0}
    for _ in range(1500):
        gap = random.normal(0.6, 0.05, 10)
        own, winners = random.normal(margin, 0.05, 10), random.normal(0.3, 0.05, 10)
        result = closed(Parts(gap, gap - own - winners, own), ANALYSIS)
        conclusion = concludes(result.p, result.p_none, 0.05, result.p_winner)
        seen[conclusion] = seen.get(conclusion, 0) + 1
    assert seen[Conclusion.CONFIRMED] / 1500 <= 0.06
    assert seen[Conclusion.ADVANTAGE] / 1500 >= 0.9


def test_what_the_winner_loses_does_not_hide_what_the_loser_gains() -> None:
    random = np.random.default_rng(18)
    gap = random.normal(0.6, 0.02, 10)
    own, winners = random.normal(0.3, 0.02, 10), random.normal(0.3, 0.02, 10)
    result = closed(Parts(gap, gap - own - winners, own), ANALYSIS)
    assert concludes(result.p, result.p_none, ANALYSIS.alpha, result.p_winner) is Conclusion.CONFIRMED
