"""What statistics must hold for whatever numbers, and what the procedures promise, in seeded simulation."""

import math

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from longlook.analysis.stats import estimate, procedures
from longlook.core.model import Better, Verdict
from tests.data.samples import only, row, rows, study

pytestmark = pytest.mark.filterwarnings("error")

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
