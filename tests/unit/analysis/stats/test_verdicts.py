"""Verdicts and caveats."""

import pytest
from syrupy.assertion import SnapshotAssertion

from longlook.core.model import Verdict
from tests.data.samples import QUIC, TCP, noisy, only, rows


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


def test_too_few_rounds_come_before_everything(snapshot: SnapshotAssertion) -> None:
    result = only(rows(TCP[:9], QUIC[:9]))
    assert result.verdict is Verdict.INCONCLUSIVE
    assert result.reason == snapshot
    assert result.effect_pct is not None


@pytest.mark.parametrize(("failures", "warned"), [(4, False), (5, True)])
def test_survivor_bias(failures: int, warned: bool) -> None:
    result = only(rows(TCP, [None] * failures + QUIC[failures:]))
    assert result.verdict is Verdict.BETTER
    assert ("survivor bias" in (result.reason or "")) is warned


@pytest.mark.parametrize(("slow_rounds", "verdict"), [(1, Verdict.BETTER), (2, Verdict.INCONCLUSIVE)])
def test_a_verdict_does_not_contradict_its_interval(slow_rounds: int, verdict: Verdict) -> None:
    usual = [0.5 + 0.001 * number for number in range(10 - slow_rounds)]
    result = only(rows([1 + 0.001 * number for number in range(10)], [*usual, *[0.9] * slow_rounds]))
    assert result.p_adjusted is not None and result.p_adjusted < 0.001
    assert result.ci_low_pct is not None and result.ci_high_pct is not None
    assert (result.ci_low_pct <= 0 <= result.ci_high_pct) == (verdict is Verdict.INCONCLUSIVE)
    assert result.verdict is verdict
    assert ("the interval, which allows for skewed rounds, holds 0" in (result.reason or "")) == (slow_rounds == 2)


@pytest.mark.parametrize(
    ("itself", "reference", "verdict"),
    [(49.0, "tcp", Verdict.INCONCLUSIVE), (51.0, "tcp", Verdict.BETTER), (49.0, "quic", Verdict.BETTER)],
)
def test_nothing_is_compared_with_a_reference_that_is_not_like_itself(
    itself: float, reference: str, verdict: Verdict
) -> None:
    values = [itself + 0.01 * number for number in range(-10, 10)]
    samples = rows(values, noisy(90, seed=2), metric="conformance")
    result = only(samples, metric="conformance", reference=reference)
    assert result.verdict is verdict
    assert result.difference is not None and result.difference.value > 30
    assert ("tcp itself reaches 49 % in its own next round, where 50 are needed" in (result.reason or "")) == (
        verdict is Verdict.INCONCLUSIVE
    )
