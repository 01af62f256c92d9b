"""Room for losses that the rounds have missed: formula, bounds, and rates where the truth is known; all is seeded."""

import math
from functools import partial

import numpy as np
import pandas as pd
import pytest
from scipy import stats
from syrupy.assertion import SnapshotAssertion

from longlook.analysis.stats import procedures, rare_losses, sequential
from longlook.analysis.stats.procedures import Floats
from longlook.core.errors import InputError
from longlook.core.model import Verdict
from tests.data.samples import noisy, only, rows

MARGIN = math.log(1.03)
FIXED = partial(procedures.paired, margin=MARGIN, confidence=0.95)
LAST = partial(sequential.paired, margin=MARGIN, confidence=0.95, last=True)


def alike(mean: float, spread: float = 0.002, count: int = 10) -> Floats:
    """Rounds that are nearly alike, with exactly this mean."""
    values = np.random.default_rng(3).normal(0, spread, count)
    result: Floats = values - values.mean() + mean
    return result


def lossy(samples: pd.DataFrame, losses: float | None) -> pd.DataFrame:
    return samples.assign(loses_at_random=True, random_losses=losses).astype({"random_losses": "float64"})


@pytest.mark.parametrize(("losses", "larger_pct"), [(0.0, 100), (0.3, 100), (1.0, 100), (4.0, 50), (100.0, 10)])
def test_the_unseen_round_is_twice_as_large_or_less_where_losses_are_many(losses: float, larger_pct: float) -> None:
    assert rare_losses.larger_pct(losses) == pytest.approx(larger_pct)


def test_the_interval_is_students_with_one_round_at_the_far_end() -> None:
    rounds = alike(0.2)
    found = rare_losses.allowing(FIXED, rounds, 0.0, is_log=True)
    low, high = (np.append(rounds, np.median(rounds) + end) for end in (-math.log(2), math.log(2)))
    t = stats.t.ppf(0.975, 10)
    assert found.low == pytest.approx(low.mean() - t * stats.sem(low))
    assert found.high == pytest.approx(high.mean() + t * stats.sem(high))
    assert found.mean == pytest.approx(0.2)
    assert found.p == pytest.approx(1.0 if low.mean() < 0 else stats.ttest_1samp(low, 0.0).pvalue)


def test_ten_rounds_that_are_alike_decide_where_the_effect_is_large_enough_and_never_show_equivalence() -> None:
    for mean, found in ((0.0, False), (0.1, False), (0.3, True), (-0.3, True)):
        paired = rare_losses.allowing(FIXED, alike(mean), 0.2, is_log=True)
        assert (paired.p is not None and paired.p < 0.01) is found
        assert paired.p_equivalence is not None
        assert paired.p_equivalence > 0.05
        assert not paired.constant


def test_swapping_the_arms_mirrors_it() -> None:
    rounds = alike(0.1, spread=0.05)
    one, other = (rare_losses.allowing(FIXED, sign * rounds, 0.5, is_log=True) for sign in (1, -1))
    assert (one.low, one.high) == (pytest.approx(-(other.high or 0)), pytest.approx(-(other.low or 0)))
    assert (one.p, one.p_equivalence) == (pytest.approx(other.p), pytest.approx(other.p_equivalence))


@pytest.mark.parametrize("analyse", [FIXED, LAST])
def test_it_never_says_more_than_the_rounds_alone(analyse: rare_losses.Analyse) -> None:
    random = np.random.default_rng(7)
    for count in (2, 5, 10, 40):
        for mean in (-0.4, 0.0, 0.05):
            rounds = random.normal(mean, 0.05, count)
            seen, found = analyse(rounds), rare_losses.allowing(analyse, rounds, 2.0, is_log=True)
            assert (found.p or 0) >= (seen.p or 0)
            assert (found.p_equivalence or 0) >= (seen.p_equivalence or 0)
            assert seen.low is None or found.low is None or found.low <= seen.low
            assert seen.high is None or found.high is None or found.high >= seen.high


def test_one_round_has_no_interval_and_a_path_without_random_loss_no_unseen_round() -> None:
    assert rare_losses.allowing(FIXED, np.array([0.1]), 0.0, is_log=True) == FIXED(np.array([0.1]))
    rounds = alike(0.1)
    assert rare_losses.analysed(FIXED, rounds, None, is_log=True) == FIXED(rounds)
    assert rare_losses.analysed(FIXED, rounds, np.zeros(10), is_log=True) != FIXED(rounds)


@pytest.mark.parametrize(("share", "cost"), [(0.02, 1.0), (0.05, 0.8), (0.1, 0.5), (0.25, 0.3)])
@pytest.mark.parametrize("count", [10, 20])
def test_a_rare_timeout_is_allowed_for_though_most_samples_hold_none(share: float, cost: float, count: int) -> None:
    """Most rounds favour one arm by as much as timeouts, which are rare, favour the other: the true mean is 0."""
    random, samples = np.random.default_rng([int(1000 * share), count]), 400
    called = held = alone = 0
    for _ in range(samples):
        waits = np.where(random.random(count) < share, -cost, 0.0)
        rounds = random.normal(share * cost, 0.005, count) + waits
        found = rare_losses.allowing(FIXED, rounds, 0.5, is_log=True)
        called += found.p is not None and found.p < 0.01
        held += found.low is not None and found.high is not None and found.low <= 0 <= found.high
        alone += (FIXED(rounds).p or 0) < 0.01
    assert called <= 0.01 * samples
    assert held >= 0.95 * samples
    assert alone > 0.02 * samples


def test_about_so_many_rounds_like_these_are_needed() -> None:
    def decides(rounds: Floats) -> bool:
        return (rare_losses.allowing(FIXED, rounds, 0.2, is_log=True).p or 0) < 0.01

    rounds = alike(0.1)
    needed = rare_losses.rounds_needed(decides, rounds)
    assert needed is not None
    assert decides(alike(0.1, count=needed))
    assert not decides(alike(0.1, count=int(needed * 0.7)))
    assert rare_losses.rounds_needed(decides, alike(0.001)) is None


def test_an_estimate_on_a_path_with_random_loss_is_careful_and_says_why(snapshot: SnapshotAssertion) -> None:
    samples = rows(noisy(1.2, 0.01, 10, seed=1), noisy(1.0, 0.01, 10, seed=2))
    alone, careful = only(samples), only(lossy(samples, 0.0))
    assert (alone.verdict, alone.random_losses, alone.reason) == (Verdict.BETTER, None, None)
    assert (careful.verdict, careful.random_losses) == (Verdict.INCONCLUSIVE, 0.0)
    assert careful.effect_pct == alone.effect_pct
    assert careful.ci_low_pct is not None
    assert alone.ci_low_pct is not None
    assert careful.ci_low_pct < 0 < alone.ci_low_pct
    assert careful.reason is not None
    assert careful.reason == snapshot


def test_more_rounds_decide_and_the_reason_no_longer_asks_for_them() -> None:
    result = only(lossy(rows(noisy(1.2, 0.01, 40, seed=1), noisy(1.0, 0.01, 40, seed=2)), 0.0))
    assert result.verdict is Verdict.BETTER
    assert result.reason is not None
    assert "would decide" not in result.reason


def test_arms_that_gave_the_same_in_every_round_are_not_equivalent_where_loss_may_differ() -> None:
    samples = rows([1.0] * 10, [1.0] * 10)
    assert only(samples).verdict is Verdict.EQUIVALENT
    assert only(lossy(samples, 0.0)).verdict is Verdict.INCONCLUSIVE


def test_the_arm_that_lost_fewer_packets_counts_and_a_path_without_loss_does_not() -> None:
    samples = rows(noisy(1.2, 0.01, 10, seed=1), noisy(1.0, 0.01, 10, seed=2))
    by_arm = lossy(samples, 0.0).assign(random_losses=samples["arm"].map({"tcp": 9.0, "quic": 4.0}))
    assert only(by_arm).random_losses == 4.0
    is_tcp = samples["arm"] == "tcp"
    one = samples.assign(loses_at_random=is_tcp, random_losses=is_tcp.map({True: 9.0, False: None}))
    assert only(one).random_losses == 9.0
    assert only(lossy(samples, None).assign(loses_at_random=False)).random_losses is None


def test_rounds_whose_losses_no_log_tells_are_allowed_most_and_the_reason_says_so(snapshot: SnapshotAssertion) -> None:
    samples = rows(noisy(1.2, 0.01, 10, seed=1), noisy(1.0, 0.01, 10, seed=2))
    unknown, none = only(lossy(samples, None)), only(lossy(samples, 0.0))
    assert (unknown.random_losses, unknown.ci_low_pct, unknown.p_paired) == (0.0, none.ci_low_pct, none.p_paired)
    some = lossy(samples, 8.0)
    some.loc[(some["arm"] == "quic") & (some["round"] < 5), "random_losses"] = None
    assert only(some).random_losses == 4.0
    assert only(some).reason == snapshot
    assert "no log" not in (none.reason or "")


@pytest.mark.parametrize(("has", "lacks"), [("random_losses", "loses_at_random"), ("unseen_pct", "like_arms")])
def test_samples_of_an_older_analysis_are_measured_again(has: str, lacks: str) -> None:
    old = rows([1.0] * 10, [1.0] * 10).assign(**{has: 1.0})
    with pytest.raises(InputError, match=f"samples have no column '{lacks}'"):
        only(old)


@pytest.mark.parametrize("rounds", [1, 2, 3, 10])
@pytest.mark.parametrize("analyse", [FIXED, LAST])
def test_equal_rounds_are_no_certainty_if_losses_are_integrated(rounds: int, analyse: rare_losses.Analyse) -> None:
    """Rounds of means may agree to the last digit though a rare pattern would part them, also at a single look."""
    found = rare_losses.with_unseen(analyse, np.full(rounds, 0.05), 2.0, is_log=True)
    assert not found.constant
    assert found.p is None or 0 < found.p <= 1
    assert found.low is None or found.low < 0.05
    assert found.high is None or found.high > 0.05
    assert found.p_equivalence in (None, 1.0) or found.p_equivalence > 0.5


@pytest.mark.parametrize(("error", "count", "share"), [(0.05, 1, 0.95), (0.05, 300, 3 / 300), (0.025, 10, 0.3085)])
def test_draws_miss_the_unseen_share_with_the_probability_of_an_error(error: float, count: int, share: float) -> None:
    found = rare_losses.unseen_share(error, count)
    assert found == pytest.approx(share, rel=0.01)
    assert (1 - found) ** count == pytest.approx(error)


def test_room_moves_both_ends_and_a_difference_within_it_is_none() -> None:
    rounds = alike(0.02)
    seen, roomy = FIXED(rounds), rare_losses.with_room(FIXED, rounds, 0.01)
    assert seen.low is not None
    assert seen.high is not None
    assert (roomy.low, roomy.high) == pytest.approx((seen.low - 0.01, seen.high + 0.01))
    assert roomy.mean == seen.mean
    assert seen.p is not None
    assert roomy.p is not None
    assert seen.p < roomy.p < 0.01
    assert rare_losses.with_room(FIXED, rounds, 0.03).p == 1.0
    equal = rare_losses.with_room(FIXED, alike(0.0), 0.02)
    beyond = rare_losses.with_room(FIXED, alike(0.0), 0.04)
    assert equal.p_equivalence is not None
    assert beyond.p_equivalence is not None
    assert equal.p_equivalence < 0.05 < beyond.p_equivalence


def test_patterns_that_no_round_drew_are_allowed_for_by_the_trials_that_missed_them() -> None:
    assert rare_losses.Apart(0.5, 2).room(10, 0.05) == pytest.approx(0.5 * (1 - 0.05 ** (1 / 20)))
