"""How much of a gap a change closes, and what may be concluded from it."""

import math
from dataclasses import replace

import numpy as np
import pytest

from longlook.analysis.stats.rare_losses import Apart, larger_pct
from longlook.core.metric import find_metric
from longlook.core.model import Analysis
from longlook.explain.attribution import Conclusion, Parts, Room, Unseen, closed, concludes, monotone, share
from longlook.explain.judge import Gap
from tests.data.gaps import RATIOS

ANALYSIS = Analysis()


def unseen(losses: float | None) -> Unseen | None:
    """Return the room for a loss that no round met, with so many losses a load."""
    return None if losses is None else Unseen(Room(larger_pct(losses)), Room(larger_pct(losses)))


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
    result = closed(Parts(gap, gap - random.normal(0.4, 0.02, 10), RATIOS), ANALYSIS)
    assert concludes(result.p, result.p_none, ANALYSIS.alpha) is Conclusion.CONFIRMED
    assert result.share is not None and 70 < result.share.share_pct < 90


def test_a_change_that_moves_the_gap_the_wrong_way_is_never_confirmed() -> None:
    random = np.random.default_rng(2)
    gap = random.normal(0.5, 0.05, 10)
    result = closed(Parts(gap, gap + 0.4, RATIOS), ANALYSIS)
    assert concludes(result.p, result.p_none, ANALYSIS.alpha) is Conclusion.INCONCLUSIVE
    assert result.closed < 0


def test_a_change_without_a_difference_is_refuted_also_where_nothing_varies() -> None:
    random = np.random.default_rng(3)
    gap = random.normal(0.5, 0.05, 10)
    noisy = closed(Parts(gap, gap + random.normal(0, 0.002, 10), RATIOS), ANALYSIS)
    assert concludes(noisy.p, noisy.p_none, ANALYSIS.alpha) is Conclusion.REFUTED
    same = closed(Parts(gap, gap.copy(), RATIOS), ANALYSIS)
    assert concludes(same.p, same.p_none, ANALYSIS.alpha) is Conclusion.REFUTED


def test_a_change_by_the_same_in_every_round_is_confirmed_without_variance() -> None:
    gap = np.full(10, 0.5)
    result = closed(Parts(gap, gap - 0.3, RATIOS), ANALYSIS)
    assert result.p == 0
    assert concludes(result.p, result.p_none, ANALYSIS.alpha) is Conclusion.CONFIRMED


def test_where_packets_are_lost_at_random_a_change_needs_to_close_more_and_its_share_is_less_certain() -> None:
    random = np.random.default_rng(4)
    gap = random.normal(0.5, 0.05, 10)
    changed = gap - random.normal(0.4, 0.02, 10)
    certain, many, few = (
        closed(Parts(gap, changed, RATIOS), ANALYSIS, unseen(losses)) for losses in (None, 100.0, 1.0)
    )
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
            found = closed(Parts(gap, kept, RATIOS), ANALYSIS, unseen(losses)).share
            assert found is not None and found.ci_low_pct is not None and found.ci_high_pct is not None
            held[losses] += found.ci_low_pct <= 100 * true / (0.4 + np.log(2) / 40) <= found.ci_high_pct
    assert held[None] / 400 < 0.9
    assert held[1.0] / 400 >= 0.95


def test_a_change_that_changed_no_trial_is_refuted_on_a_path_that_loses_at_random() -> None:
    gap = np.random.default_rng(6).normal(0.5, 0.05, 10)
    same = closed(Parts(gap, gap.copy(), RATIOS), ANALYSIS, unseen(1.0))
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
        result = closed(Parts(gap, gap - own - winners, RATIOS, own), ANALYSIS)
        conclusion = concludes(result.p, result.p_none, 0.05, result.p_winner)
        seen[conclusion] = seen.get(conclusion, 0) + 1
    assert seen[Conclusion.CONFIRMED] / 1500 <= 0.06
    assert seen[Conclusion.ADVANTAGE] / 1500 >= 0.9


def test_what_the_winner_loses_does_not_hide_what_the_loser_gains() -> None:
    random = np.random.default_rng(18)
    gap = random.normal(0.6, 0.02, 10)
    own, winners = random.normal(0.3, 0.02, 10), random.normal(0.3, 0.02, 10)
    result = closed(Parts(gap, gap - own - winners, RATIOS, own), ANALYSIS)
    assert concludes(result.p, result.p_none, ANALYSIS.alpha, result.p_winner) is Conclusion.CONFIRMED


def test_room_in_what_a_change_closes_is_apart_from_room_in_the_gap() -> None:
    random = np.random.default_rng(8)
    gap = random.normal(0.5, 0.05, 10)
    parts = Parts(gap, gap - random.normal(0.4, 0.02, 10), RATIOS)
    none, part, whole = (
        closed(parts, ANALYSIS, Unseen(Room(first), Room(second)))
        for first, second in ((0.0, 0.0), (50.0, 0.0), (0.0, 50.0))
    )
    assert none.p is not None and part.p is not None and whole.p is not None
    assert none.p == pytest.approx(whole.p)  # tests are about what is closed
    assert none.p < part.p
    widths = [one.share.ci_high_pct - one.share.ci_low_pct for one in (none, part, whole)]  # type: ignore
    assert widths[0] < min(widths[1:])


@pytest.mark.parametrize(
    ("beside", "conclusion"),
    [(0.0, Conclusion.CONFIRMED), (0.05, Conclusion.CONFIRMED), (0.06, Conclusion.INCONCLUSIVE)],
)
def test_a_true_mean_beside_that_of_the_rounds_moves_interval_and_test_by_as_much(
    beside: float, conclusion: Conclusion
) -> None:
    """0.4 becomes 0.315: 0.085 is closed, which exceeds the margin of ln 1.03 by 0.055."""
    gap = np.full(10, 0.4)
    result = closed(Parts(gap, gap - 0.085, RATIOS), ANALYSIS, Unseen(Room(0.0, beside), Room()))
    assert concludes(result.p, result.p_none, ANALYSIS.alpha) is conclusion
    assert result.share is not None
    share_pct, low, high = result.share.share_pct, result.share.ci_low_pct, result.share.ci_high_pct
    assert share_pct == pytest.approx(100 * 0.085 / 0.4)
    assert (low, high) == (pytest.approx(100 * (0.085 - beside) / 0.4), pytest.approx(100 * (0.085 + beside) / 0.4))


def test_a_change_without_a_difference_is_refuted_if_the_true_mean_lies_within_the_margin() -> None:
    gap = np.full(10, 0.4)
    found = [closed(Parts(gap, gap, RATIOS), ANALYSIS, Unseen(Room(9.0, beside), Room())) for beside in (0.029, 0.031)]
    assert [one.p_none for one in found] == [0.0, 1.0]


def test_a_share_has_no_bounds_if_the_true_gap_may_be_none() -> None:
    gap = np.full(10, 0.4)
    found = closed(Parts(gap, gap - 0.1, RATIOS), ANALYSIS, Unseen(Room(), Room(0.0, 0.5))).share
    assert found is not None
    assert (found.share_pct, found.ci_low_pct, found.ci_high_pct) == (pytest.approx(25), None, None)


def test_distances_of_both_changed_arms_add_up_and_others_have_the_room_of_a_round() -> None:
    """With one draw that misses it, a pattern may be all of a stratum: 1 − 0.025 of it."""
    metric = find_metric("page_load_time")
    values = {"slow": 2.0, "fast": 1.0, "slow~": 1.6, "fast~": 1.1}
    gap = Gap(
        "slow",
        "fast",
        metric,
        {arm: dict.fromkeys(range(10), value) for arm, value in values.items()},
        {"slow": 5.0, "fast": 7.0, "slow~": 9.0},
        {("slow", "slow~"): (Apart(0.2, 1), Apart(0.1, 1)), ("fast", "fast~"): (Apart(0.3, 5),), ("slow", "fast"): ()},
    )
    arms = {"slow": "slow~", "fast": "fast~"}
    beside = 0.2 * (1 - 0.025 ** (1 / 10)) + 0.3 * (1 - 0.025 ** (1 / 50))
    closing = math.log(2 / 1.6) + math.log(1.1)
    expected = closed(gap.parts(arms, ANALYSIS)[1], ANALYSIS, Unseen(Room(0.0, beside), Room(7.0)))
    assert gap.closed(arms, ANALYSIS) == expected
    assert expected.closed == pytest.approx(-100 * math.expm1(-closing))
    alone = replace(gap, apart={}).closed({"slow": "slow~"}, ANALYSIS)
    assert alone == closed(gap.parts({"slow": "slow~"}, ANALYSIS)[1], ANALYSIS, Unseen(Room(9.0), Room(7.0)))


def test_counts_are_closed_by_differences_in_their_unit() -> None:
    """4 stalls against 1, of which a change leaves 2: 2 stalls of 3, whatever zeros there are."""
    stalls = find_metric("stalls")
    loser, winner = np.array([4.0, 5, 3, 4, 4, 5, 3, 4, 4, 4]), np.array([1.0, 2, 0, 1, 1, 2, 0, 1, 1, 1])
    values = {"slow": loser, "fast": winner, "slow~half": winner + 1}
    gap = Gap("slow", "fast", stalls, {arm: dict(enumerate(own.tolist())) for arm, own in values.items()})
    result = gap.closed({"slow": "slow~half"}, ANALYSIS)
    assert result is not None and result.share is not None
    assert (result.closed, result.unit) == (pytest.approx(2.0), "stalls")
    assert result.share.share_pct == pytest.approx(200 / 3)
    assert concludes(result.p, result.p_none, ANALYSIS.alpha) is Conclusion.CONFIRMED
    _, parts = gap.parts({"slow": "slow~half"}, ANALYSIS)
    assert parts.scale.margin * parts.scale.size == pytest.approx(stalls.margin.size)
