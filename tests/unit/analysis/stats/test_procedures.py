"""The statistical procedures: corrections, margins, and their promises in seeded simulation."""

import math

import numpy as np
import pandas as pd
import pytest
from scipy import stats as scipy_stats

from longlook.analysis.stats import estimate, procedures
from longlook.core.model import Better, Verdict
from tests.data.samples import QUIC, TCP, only, rows, study


@pytest.mark.parametrize(
    ("correction", "expected"),
    [("holm", [0.03, 0.04, 0.04]), ("fdr_bh", [0.03, 0.03, 0.03]), ("none", [0.01, 0.02, 0.03])],
)
def test_corrections(correction: str, expected: list[float]) -> None:
    assert procedures.adjust([0.01, 0.02, 0.03], correction) == pytest.approx(expected)


def test_a_margin_is_the_same_either_way_round() -> None:
    assert procedures.margin(3, True) == pytest.approx(-math.log(1 / 1.03))


def test_p_values_are_those_of_scipy() -> None:
    result = only(rows(TCP, QUIC))
    assert result.p_welch == pytest.approx(scipy_stats.ttest_ind(TCP, QUIC, equal_var=False).pvalue)
    assert result.p_mannwhitney == pytest.approx(scipy_stats.mannwhitneyu(QUIC, TCP).pvalue)
    logs = np.log(TCP) - np.log(QUIC)
    assert result.p_paired == pytest.approx(scipy_stats.ttest_1samp(logs, 0).pvalue)


def test_without_skewness_intervals_and_equivalence_are_student_s() -> None:
    advantage = np.array([-0.03, -0.01, 0.0, 0.01, 0.03]) + 0.004
    found = procedures.paired(advantage, 0.03, 0.95)
    low, high = scipy_stats.ttest_1samp(advantage, 0).confidence_interval(0.95)
    assert [found.low, found.high] == pytest.approx([low, high])
    bounds = [
        scipy_stats.ttest_1samp(advantage, -0.03, alternative="greater").pvalue,
        scipy_stats.ttest_1samp(advantage, 0.03, alternative="less").pvalue,
    ]
    assert found.p_equivalence == pytest.approx(max(bounds))


def test_a_skewed_interval_reaches_where_hall_s_transformation_is_the_quantile() -> None:
    """The transformed end is put through g, whose inverse the interval uses."""
    advantage = np.array([0.0, 0.01, 0.01, 0.02, 0.03, 0.05, 0.08, 0.2])
    found = procedures.paired(advantage, 0.03, 0.9)
    n, skewness, deviation = len(advantage), scipy_stats.skew(advantage), np.std(advantage, ddof=1)
    assert found.high is not None
    scaled = (advantage.mean() - found.high) / deviation
    transformed = scaled + skewness * scaled**2 / 3 + skewness**2 * scaled**3 / 27 + skewness / (6 * n)
    assert transformed * math.sqrt(n) == pytest.approx(scipy_stats.t.ppf(0.05, n - 1))
    assert found.low == pytest.approx(scipy_stats.ttest_1samp(advantage, 0).confidence_interval(0.9).low)


@pytest.mark.parametrize(
    ("law", "at_least"),
    [("normal", 0.95), ("t of 3 degrees", 0.95), ("exponential", 0.93), ("two points", 0.95)],
)
def test_intervals_hold_the_mean_of_other_laws_than_the_normal(law: str, at_least: float) -> None:
    """Student's interval alone holds that of an exponential law in 90 % of samples of 10."""
    random = np.random.default_rng(11)
    count, rounds = 1000, 10
    size = (count, rounds)
    draws = {
        "normal": random.normal(size=size),
        "t of 3 degrees": random.standard_t(3, size=size),
        "exponential": random.exponential(size=size) - 1,
        "two points": random.integers(0, 2, size) - 0.5 + random.normal(0, 0.02, size),
    }[law]
    found = [procedures.paired(draw, 0.03, 0.95) for draw in draws]
    held = [item.low <= 0 <= item.high for item in found if item.low is not None and item.high is not None]
    assert sum(held) / count >= at_least - 0.01


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


def test_failing_more_is_a_matter_of_the_rounds_that_only_one_arm_lost() -> None:
    assert procedures.fails_more(0, 0) == 1.0
    assert procedures.fails_more(5, 0) == pytest.approx(2**-5)
    assert procedures.fails_more(0, 5) == 1.0
    assert procedures.fails_more(6, 1) == pytest.approx(8 / 2**7)
