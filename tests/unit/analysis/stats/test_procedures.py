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
