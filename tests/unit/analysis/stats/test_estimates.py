"""Estimates: effects, pairs, p values of cells and families, and degenerate input."""

import math
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from syrupy.assertion import SnapshotAssertion

from longlook.analysis.stats import estimate
from longlook.core.errors import InputError
from longlook.core.model import Contrast, Verdict
from tests.data.samples import QUIC, TCP, around, draws, noisy, only, row, rows, study


def test_effect_is_the_share_by_which_a_smaller_is_better_contender_is_smaller() -> None:
    result = only(rows(TCP, QUIC))
    ratio = math.exp(np.mean(np.log(QUIC) - np.log(TCP)))
    assert result.effect_pct == pytest.approx(100 * (1 - ratio))
    assert result.verdict is Verdict.BETTER
    assert result.ci_low_pct < result.effect_pct < result.ci_high_pct
    assert (result.n_baseline, result.n_contender, result.n_pairs) == (20, 20, 20)


def test_effect_is_the_gain_where_more_is_better() -> None:
    result = only(rows(TCP, QUIC, metric="throughput"), metric="throughput")
    ratio = math.exp(np.mean(np.log(QUIC) - np.log(TCP)))
    assert result.effect_pct == pytest.approx(100 * (ratio - 1))
    assert result.verdict is Verdict.WORSE
    assert result.unit == "Mbit/s"


def test_pairs_are_rounds_that_both_arms_finished() -> None:
    tcp: list[float | None] = [None, *TCP[1:]]
    quic: list[float | None] = [*QUIC[:-2], None, None]
    result = only(rows(tcp, quic))
    assert (result.n_baseline, result.n_contender, result.n_pairs) == (19, 18, 17)
    assert result.outcomes == {"tcp:failed": 1, "tcp:ok": 19, "quic:failed": 2, "quic:ok": 18}


def test_a_last_attempt_replaces_earlier_ones_and_all_are_counted() -> None:
    samples = pd.concat([rows(TCP, QUIC), pd.DataFrame([row("quic", 0, QUIC[0], attempt=2)])])
    samples.loc[(samples["arm"] == "quic") & (samples["round"] == 0) & (samples["attempt"] == 1), "outcome"] = "invalid"
    result = only(samples)
    assert result.n_contender == 20
    assert result.outcomes["quic:invalid"] == 1
    assert result.outcomes["quic:ok"] == 20
    assert result.reason is None


def test_failures_are_counted_by_round_and_only_where_both_arms_were_judged() -> None:
    outcomes = {"tcp": ["failed", "timed_out", "ok", "ok", "invalid", "ok"]}
    outcomes["quic"] = ["timed_out", "ok", "failed", "unsupported", "failed", "ok"]
    samples = pd.DataFrame(
        [
            row(arm, number, 1.0 if outcome == "ok" else None, outcome)
            for arm, found in outcomes.items()
            for number, outcome in enumerate(found)
        ]
    )
    result = only(samples)
    assert (result.n_judged, result.n_baseline_failed, result.n_contender_failed, result.n_both_failed) == (4, 2, 2, 1)


def test_p_values_are_adjusted_over_the_cells_of_a_contrast() -> None:
    samples = pd.concat([rows(noisy(1, seed=2 * k), noisy(0.96, seed=2 * k + 1), cell=f"c{k}") for k in range(6)])
    results = estimate(samples, study([f"c{k}" for k in range(6)]))
    smallest = min(results, key=lambda item: item.p_paired or 1)
    assert smallest.p_adjusted == pytest.approx(6 * (smallest.p_paired or 1))


def test_cells_come_in_the_order_of_the_levels() -> None:
    samples = pd.concat([rows(TCP, QUIC, cell=cell) for cell in ("5", "50", "10")])
    assert [item.cell["rate"] for item in estimate(samples, study(["50", "5", "10"]))] == ["50", "5", "10"]


def test_one_round(snapshot: SnapshotAssertion) -> None:
    result = only(rows([2.0], [1.0]), min_rounds=1)
    assert result.verdict is Verdict.INCONCLUSIVE
    assert result.reason == snapshot
    assert result.effect_pct == pytest.approx(50)
    assert (result.ci_low_pct, result.p_paired, result.p_welch, result.p_mannwhitney) == (None, None, None, None)


def test_identical_arms_without_variance() -> None:
    result = only(rows([1.5] * 10, [1.5] * 10))
    assert result.verdict is Verdict.EQUIVALENT
    assert result.reason is not None and "no variance" in result.reason
    assert (result.effect_pct, result.ci_low_pct, result.ci_high_pct) == (0, 0, 0)
    assert (result.p_welch, result.p_paired, result.p_mannwhitney) == (1, 1, 1)


def test_identical_rounds_that_vary_between_rounds() -> None:
    result = only(rows(TCP, TCP))
    assert result.verdict is Verdict.EQUIVALENT
    assert result.reason is not None and "same value in each of 20 rounds" in result.reason


@pytest.mark.parametrize(
    ("contender", "verdict"), [(1.0, Verdict.BETTER), (3.0, Verdict.WORSE), (1.99, Verdict.EQUIVALENT)]
)
def test_different_arms_without_variance(contender: float, verdict: Verdict) -> None:
    result = only(rows([2.0] * 10, [contender] * 10))
    assert result.verdict is verdict
    assert (result.p_paired, result.p_welch) == (0, 0)
    assert result.reason is not None and "p is exact" in result.reason
    assert result.ci_low_pct == result.ci_high_pct == result.effect_pct == pytest.approx(100 * (1 - contender / 2))


@pytest.mark.parametrize("which", ["tcp", "quic"])
def test_one_arm_without_variance(which: str) -> None:
    result = only(rows([2.0] * 20, QUIC) if which == "tcp" else rows(TCP, [1.0] * 20))
    assert result.verdict is Verdict.BETTER
    assert result.p_welch is not None and 0 < result.p_welch < 1e-6


def test_all_failed(snapshot: SnapshotAssertion) -> None:
    result = only(rows([None] * 10, [None] * 10, outcome="timed_out"))
    assert result.verdict is Verdict.INCONCLUSIVE
    assert result.reason is not None
    assert result.reason == snapshot
    assert result.outcomes == {"tcp:timed_out": 10, "quic:timed_out": 10}
    assert (result.effect_pct, result.baseline_median, result.p_adjusted) == (None, None, None)


def test_one_arm_failed() -> None:
    result = only(rows(TCP, [None] * 20, outcome="unsupported"))
    assert result.verdict is Verdict.INCONCLUSIVE
    assert result.reason is not None and "quic failed in all 20 rounds (unsupported: no reason given)" in result.reason
    assert result.baseline_median == pytest.approx(np.median(TCP))


def test_an_arm_that_was_never_tried() -> None:
    samples = rows(TCP, QUIC)
    result = only(samples[samples["arm"] == "tcp"])
    assert result.reason is not None and "quic was never tried" in result.reason


def test_no_samples_at_all() -> None:
    assert estimate(rows(TCP, QUIC).iloc[:0], study()) == []


def test_a_table_that_is_not_samples_is_refused() -> None:
    with pytest.raises(InputError, match="no column 'outcome'"):
        estimate(rows(TCP, QUIC).drop(columns="outcome"), study())


def test_zero_values_fall_back_to_differences() -> None:
    result = only(rows(TCP, [0.0, *QUIC[1:]]))
    assert result.verdict is Verdict.BETTER
    assert result.reason is not None and "the effect is the mean difference in s" in result.reason
    assert result.effect_pct is None and result.difference is not None
    assert result.difference.value == pytest.approx(np.mean(TCP) - np.mean([0.0, *QUIC[1:]]))
    assert (result.difference.unit, result.difference.margin) == ("s", 0.0)


def test_negative_values_that_are_equal_are_equivalent() -> None:
    assert only(rows([-1.0] * 10, [-1.0] * 10)).verdict is Verdict.EQUIVALENT


@pytest.mark.parametrize("bad", [math.inf, -math.inf, math.nan])
def test_values_that_are_not_finite_are_not_used(bad: float) -> None:
    result = only(rows([bad, *TCP[1:]], QUIC))
    assert result.n_pairs == 19
    assert result.reason is not None and "no usable value in 1 rounds" in result.reason


def test_huge_and_tiny_values() -> None:
    result = only(rows([1e308] * 5 + [1e-308] * 5, [1e-308] * 5 + [1e308] * 5))
    assert result.verdict is Verdict.INCONCLUSIVE
    only(rows([1e308, -1e308] * 5, [1e308] * 10))
    only(rows([5e-324] * 10, [1e-323] * 10))


def test_a_metric_that_does_not_exist_is_an_error() -> None:
    bad = replace(study(), contrasts=(replace(study().contrasts[0], metric="page_load_tim"),))
    with pytest.raises(InputError, match="unknown metric"):
        estimate(rows(TCP, QUIC), bad)


def test_contrasts_of_a_family_are_corrected_together() -> None:
    there = Contrast("there", "tcp", "quic", "page_load_time", "both")
    two = [there, Contrast("back", "quic", "tcp", "page_load_time", "both")]
    noise = np.random.default_rng(3).normal(0, 0.03, 10)
    samples = rows([1.0] * 10, list(1.04 + noise))
    alone = estimate(samples, study())[0]
    assert alone.p_paired is not None
    assert alone.p_adjusted == alone.p_paired
    together = estimate(samples, replace(study(), contrasts=tuple(two)))
    assert [item.p_adjusted for item in together] == pytest.approx([2 * alone.p_paired] * 2)
    apart = estimate(samples, replace(study(), contrasts=tuple(replace(contrast, family="") for contrast in two)))
    assert [item.p_adjusted for item in apart] == pytest.approx([alone.p_paired] * 2)


SIZE = "workload.object_bytes"


def on_a_cliff(settings: dict[str, list[float]], below: float = 0.54, above: float = 0.48) -> pd.DataFrame:
    """TCP takes 250 ms; the contender a share of it that depends on the object's size alone."""
    quic = [0.25 * (above if size >= 98e3 else below) for size in settings[SIZE]]
    return around(rows([0.25] * len(quic), quic), settings)


def test_an_effect_that_depends_on_a_drawn_setting_is_marked_with_both_values() -> None:
    result = only(on_a_cliff(draws(20)))
    assert result.cliff is not None and result.cliff.setting == SIZE
    assert result.cliff.effect_low_pct == pytest.approx(46) and result.cliff.effect_high_pct == pytest.approx(52)
    assert (
        result.reason is not None
        and "depends on the object's size: +52 % from about 98 KB, +46 % below" in result.reason
    )
    assert result.verdict is Verdict.BETTER


def test_an_effect_that_changes_sign_says_so(snapshot: SnapshotAssertion) -> None:
    result = only(on_a_cliff(draws(20), below=1.1, above=0.9))
    assert result.reason is not None
    assert result.reason == snapshot


def test_values_of_a_round_that_one_arm_failed_do_not_count() -> None:
    settings = draws(21)
    samples = on_a_cliff(settings)
    failed = (samples["arm"] == "quic") & (samples["round"] == 20)
    samples.loc[failed, ["outcome", "value"]] = ["failed", np.nan]
    (found, *_) = only(samples).dependences
    assert found.n == 20
    assert found.high == max(settings[SIZE][:20])


def test_a_setting_that_some_rounds_did_not_draw_is_left_out() -> None:
    samples = on_a_cliff(draws(20))
    samples.loc[samples["round"] == 3, f"drawn.{SIZE}"] = np.nan
    result = only(samples)
    assert SIZE not in {item.setting for item in result.dependences}
    assert len(result.dependences) == 4


def test_samples_of_one_point_depend_on_nothing() -> None:
    assert only(rows(TCP, QUIC)).dependences == ()
    assert only(around(rows(TCP, QUIC), {SIZE: [math.nan] * 20})).dependences == ()


def test_the_order_of_rows_does_not_matter_to_a_dependence() -> None:
    samples = on_a_cliff(draws(20))
    assert only(samples.sample(frac=1, random_state=4)) == only(samples)
