import math
import warnings
from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats as scipy_stats

from longlook.analysis.stats import arm_levels, estimate, estimates_from_table, estimates_table, procedures
from longlook.analysis.stats.levels import median_interval
from longlook.core.codec import canonical
from longlook.core.errors import InputError
from longlook.core.model import Better, Contrast, Estimate, Verdict
from tests.data.samples import row, rows, study


@pytest.fixture(autouse=True)
def warnings_are_errors() -> Iterator[None]:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        yield


def only(samples: pd.DataFrame, **options: object) -> Estimate:
    (result,) = estimate(samples, study(**options))  # type: ignore[arg-type]
    canonical(result)  # refuses NaN and infinity
    return result


def noisy(mean: float, spread: float = 0.05, count: int = 20, seed: int = 1) -> list[float]:
    return list(mean * np.exp(np.random.default_rng(seed).normal(0, spread, count)))


TCP, QUIC = noisy(2.0, seed=1), noisy(1.0, seed=2)


# What the numbers are


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


def test_p_values_are_those_of_scipy() -> None:
    result = only(rows(TCP, QUIC))
    assert result.p_welch == pytest.approx(scipy_stats.ttest_ind(TCP, QUIC, equal_var=False).pvalue)
    assert result.p_mannwhitney == pytest.approx(scipy_stats.mannwhitneyu(QUIC, TCP).pvalue)
    logs = np.log(TCP) - np.log(QUIC)
    test = scipy_stats.ttest_1samp(logs, 0)
    assert result.p_paired == pytest.approx(test.pvalue)
    low, high = test.confidence_interval(0.95)
    assert result.ci_low_pct == pytest.approx(100 * (1 - math.exp(-low)))
    assert result.ci_high_pct == pytest.approx(100 * (1 - math.exp(-high)))
    margin = math.log(1.03)
    bounds = [
        scipy_stats.ttest_1samp(logs, -margin, alternative="greater").pvalue,
        scipy_stats.ttest_1samp(logs, margin, alternative="less").pvalue,
    ]
    assert result.p_equivalence == pytest.approx(max(bounds))


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


@pytest.mark.parametrize(
    ("correction", "expected"),
    [("holm", [0.03, 0.04, 0.04]), ("fdr_bh", [0.03, 0.03, 0.03]), ("none", [0.01, 0.02, 0.03])],
)
def test_corrections(correction: str, expected: list[float]) -> None:
    assert procedures.adjust([0.01, 0.02, 0.03], correction) == pytest.approx(expected)


def test_p_values_are_adjusted_over_the_cells_of_a_contrast() -> None:
    samples = pd.concat([rows(noisy(1, seed=2 * k), noisy(0.96, seed=2 * k + 1), cell=f"c{k}") for k in range(6)])
    results = estimate(samples, study([f"c{k}" for k in range(6)]))
    smallest = min(results, key=lambda item: item.p_paired or 1)
    assert smallest.p_adjusted == pytest.approx(6 * (smallest.p_paired or 1))


def test_cells_come_in_the_order_of_the_levels() -> None:
    samples = pd.concat([rows(TCP, QUIC, cell=cell) for cell in ("5", "50", "10")])
    assert [item.cell["rate"] for item in estimate(samples, study(["50", "5", "10"]))] == ["50", "5", "10"]


# Verdicts


def test_equivalent_where_the_interval_is_inside_the_margin() -> None:
    result = only(rows(noisy(1, 0.005, seed=1), noisy(1.005, 0.005, seed=2)))
    assert result.verdict is Verdict.EQUIVALENT


def test_a_significant_difference_below_the_margin_is_equivalent() -> None:
    result = only(rows(noisy(1, 0.001, seed=1), noisy(0.99, 0.001, seed=2)))
    assert result.p_adjusted is not None and result.p_adjusted < 0.001
    assert result.verdict is Verdict.EQUIVALENT


def test_inconclusive_says_which_tests_failed() -> None:
    result = only(rows(noisy(1, 0.3, seed=1), noisy(1, 0.3, seed=2)))
    assert result.verdict is Verdict.INCONCLUSIVE
    assert result.reason is not None and "not below 0.01" in result.reason and "equivalence" in result.reason


def test_too_few_rounds_come_before_everything() -> None:
    result = only(rows(TCP[:9], QUIC[:9]))
    assert result.verdict is Verdict.INCONCLUSIVE
    assert result.reason == "9 rounds with a value on both arms, 10 needed"
    assert result.effect_pct is not None


# Degenerate input


def test_one_round() -> None:
    result = only(rows([2.0], [1.0]), min_rounds=1)
    assert result.verdict is Verdict.INCONCLUSIVE
    assert result.reason == "1 round with a value on both arms, 2 needed"
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


def test_all_failed() -> None:
    result = only(rows([None] * 10, [None] * 10, outcome="timed_out"))
    assert result.verdict is Verdict.INCONCLUSIVE
    assert result.reason is not None
    assert "0 rounds" in result.reason and "tcp failed in all 10 rounds" in result.reason
    assert result.outcomes == {"tcp:timed_out": 10, "quic:timed_out": 10}
    assert (result.effect_pct, result.baseline_median, result.p_adjusted) == (None, None, None)


def test_one_arm_failed() -> None:
    result = only(rows(TCP, [None] * 20, outcome="unsupported"))
    assert result.verdict is Verdict.INCONCLUSIVE
    assert result.reason is not None and "quic failed in all 20 rounds" in result.reason
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


@pytest.mark.parametrize(("failures", "warned"), [(4, False), (5, True)])
def test_survivor_bias(failures: int, warned: bool) -> None:
    result = only(rows(TCP, [None] * failures + QUIC[failures:]))
    assert result.verdict is Verdict.BETTER
    assert ("survivor bias" in (result.reason or "")) is warned


def test_zero_values_fall_back_to_differences() -> None:
    result = only(rows(TCP, [0.0, *QUIC[1:]]))
    assert result.verdict is Verdict.BETTER
    assert result.reason is not None and "no log ratio" in result.reason
    expected = 100 * (np.mean(TCP) - np.mean([0.0, *QUIC[1:]])) / np.mean([*TCP, 0.0, *QUIC[1:]])
    assert result.effect_pct == pytest.approx(expected)


@pytest.mark.parametrize("values", [[0.0] * 10, [-1.0] * 10])
def test_all_zero_or_negative(values: list[float]) -> None:
    assert only(rows(values, values)).verdict is Verdict.EQUIVALENT


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


# Properties

values = st.floats(1e-3, 1e6)
finished = st.lists(st.tuples(st.one_of(values, st.none()), st.one_of(values, st.none())), min_size=1, max_size=14)
MIRROR = {Verdict.BETTER: Verdict.WORSE, Verdict.WORSE: Verdict.BETTER}
fast = settings(max_examples=25, deadline=None, derandomize=True)


def columns(data: list[tuple[float | None, float | None]]) -> tuple[list[float | None], list[float | None]]:
    return [tcp for tcp, _ in data], [quic for _, quic in data]


@fast
@given(finished, st.sampled_from(["page_load_time", "throughput"]))
def test_swapping_the_arms_mirrors_the_verdict(data: list[tuple[float | None, float | None]], metric: str) -> None:
    tcp, quic = columns(data)
    one = only(rows(tcp, quic, metric=metric), metric=metric, min_rounds=2)
    two = only(rows(quic, tcp, metric=metric), metric=metric, min_rounds=2)
    assert two.verdict is MIRROR.get(one.verdict, one.verdict)
    assert two.p_paired == pytest.approx(one.p_paired)
    assert two.p_welch == pytest.approx(one.p_welch)
    assert two.p_equivalence == pytest.approx(one.p_equivalence)


@fast
@given(finished, st.integers(-20, 20))
def test_scaling_both_arms_changes_nothing(data: list[tuple[float | None, float | None]], exponent: int) -> None:
    def scaled(values: list[float | None]) -> list[float | None]:
        return [None if value is None else value * 2.0**exponent for value in values]

    tcp, quic = columns(data)
    one, two = (only(rows(*sides), min_rounds=2) for sides in ((tcp, quic), (scaled(tcp), scaled(quic))))
    assert one.verdict is two.verdict
    assert one.effect_pct == pytest.approx(two.effect_pct, abs=1e-6)
    assert one.p_welch == pytest.approx(two.p_welch)
    assert one.p_mannwhitney == two.p_mannwhitney


@fast
@given(finished, st.randoms(use_true_random=False))
def test_the_order_of_rows_is_irrelevant(data: list[tuple[float | None, float | None]], random: object) -> None:
    samples = pd.concat([rows(*columns(data)), pd.DataFrame([row("tcp", 0, 1.25, attempt=2)])], ignore_index=True)
    order = list(range(len(samples)))
    random.shuffle(order)  # type: ignore[attr-defined]
    assert only(samples.iloc[order]) == only(samples)


@fast
@given(st.lists(st.tuples(st.floats(width=64), st.floats(width=64)), min_size=1, max_size=12))
def test_no_floats_whatever_crash_warn_or_give_nan(data: list[tuple[float, float]]) -> None:
    only(rows(*columns(data)), min_rounds=2)  # type: ignore[arg-type]


# Calibration: what the procedures promise, in seeded simulation


def test_a_against_a_is_significant_at_the_rate_of_alpha() -> None:
    random = np.random.default_rng(7)
    count, rounds, alpha = 3000, 12, 0.05
    shared = random.normal(0, 0.3, (count, rounds))  # what the common link does to both arms of a round
    baseline, contender = (np.exp(shared + random.normal(0, 0.1, (count, rounds))) for _ in range(2))
    p = []
    for pair in zip(baseline, contender, strict=True):
        advantage, _ = procedures.advantages(*pair, Better.LOWER)
        p.append(procedures.paired(advantage, procedures.margin(3, True), 0.95).p)
    assert np.mean(np.array(p) < alpha) == pytest.approx(alpha, abs=3.5 * math.sqrt(alpha * (1 - alpha) / count))


def test_intervals_cover_the_true_ratio() -> None:
    random = np.random.default_rng(8)
    count, rounds, ratio = 3000, 12, 0.8
    shared = random.normal(0, 0.3, (count, rounds))
    baseline = np.exp(shared + random.normal(0, 0.1, (count, rounds)))
    contender = ratio * np.exp(shared + random.normal(0, 0.1, (count, rounds)))
    covered = 0
    for pair in zip(baseline, contender, strict=True):
        advantage, _ = procedures.advantages(*pair, Better.LOWER)
        result = procedures.paired(advantage, procedures.margin(3, True), 0.95)
        assert result.low is not None and result.high is not None
        covered += result.low <= -math.log(ratio) <= result.high
    assert covered / count == pytest.approx(0.95, abs=3.5 * math.sqrt(0.95 * 0.05 / count))


def test_with_holm_a_study_of_a_against_a_rarely_has_any_false_verdict() -> None:
    cells = [f"c{k}" for k in range(400)]
    random = np.random.default_rng(9)
    samples = pd.concat(
        [rows(*np.exp(random.normal(0, 0.2, (2, 10))).tolist(), cell=cell) for cell in cells], ignore_index=True
    )
    verdicts = [item.verdict for item in estimate(samples, study(cells))]
    assert verdicts.count(Verdict.BETTER) + verdicts.count(Verdict.WORSE) == 0
    uncorrected = [item.verdict for item in estimate(samples, study(cells, correction="none", alpha=0.05))]
    false = uncorrected.count(Verdict.BETTER) + uncorrected.count(Verdict.WORSE)
    assert false / len(cells) == pytest.approx(0.05, abs=0.04)


# Files


def test_estimates_survive_parquet(tmp_path: object) -> None:
    samples = pd.concat([rows(TCP, QUIC, cell="a"), rows([None] * 3, [1.0, 2.0, None], cell="b")])
    estimates = estimate(samples, study(["a", "b"]))
    path = f"{tmp_path}/estimates.parquet"
    estimates_table(estimates).to_parquet(path, index=False)
    assert estimates_from_table(pd.read_parquet(path)) == estimates


def test_an_empty_table_of_estimates_has_its_columns() -> None:
    assert "p_adjusted" in estimates_table([]).columns


def test_a_margin_is_the_same_either_way_round() -> None:
    assert procedures.margin(3, True) == pytest.approx(-math.log(1 / 1.03))


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


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        ([], (None, None, None)),
        ([3.0], (3.0, None, None)),
        ([1.0, 2.0, 3.0, 4.0, 5.0], (3.0, None, None)),
        ([float(n) for n in range(10)], (4.5, 1.0, 8.0)),
        ([2.0] * 10, (2.0, 2.0, 2.0)),
    ],
)
def test_the_interval_of_a_median(values: list[float], expected: tuple[float | None, ...]) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert median_interval(np.array(values), 0.95) == expected


def test_the_interval_holds_the_median_as_often_as_it_says() -> None:
    random = np.random.default_rng(11)
    held = 0
    for _ in range(1000):
        _, low, high = median_interval(random.exponential(1.0, 10), 0.95)
        assert low is not None
        assert high is not None
        held += low <= math.log(2) <= high
    assert held >= 950  # 97.9 % in theory


def test_levels_of_every_arm_and_cell() -> None:
    samples = pd.concat([rows([1.0, 2.0, None], [4.0, 5.0, 6.0]), rows([7.0], [8.0], cell="b")])
    levels = arm_levels(samples, study(("a", "b")))
    assert [(item.arm, item.cell["rate"], item.n, item.median) for item in levels] == [
        ("tcp", "a", 2, 1.5),
        ("tcp", "b", 1, 7.0),
        ("quic", "a", 3, 5.0),
        ("quic", "b", 1, 8.0),
    ]
