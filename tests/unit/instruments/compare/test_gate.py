"""The answer of a gate: intervals against the gate, and failures by an exact paired test."""

import math
from typing import Any

import numpy as np
import pytest
from syrupy.assertion import SnapshotAssertion

from longlook.analysis.stats import procedures, sequential
from longlook.core.model import Analysis, Better
from longlook.core.results import Estimate
from longlook.instruments.compare.gate import FAILURES, GateAnswer, judge_gate
from tests.data.gates import estimate, failed

ANALYSIS = Analysis(alpha=0.05)


@pytest.mark.parametrize(
    ("item", "answer", "words"),
    [
        (estimate(-7), GateAnswer.WORSE, "the whole interval beyond the gate of 5 %"),
        (estimate(-7, p=0.2), GateAnswer.WORSE, "the whole interval beyond"),
        (estimate(-5.5), GateAnswer.UNDECIDED, "across the gate of 5 %: more rounds"),
        (estimate(-4.5), GateAnswer.UNDECIDED, "across the gate"),
        (estimate(-4), GateAnswer.PASSED, "the whole interval within the gate of 5 %"),
        (estimate(-2), GateAnswer.PASSED, "−2.0 % (95 % interval −3.0 to −1.0 %, 20 rounds)"),
        (estimate(7), GateAnswer.PASSED, "+7.0 %"),
        (estimate(-8, 9, 0.2), GateAnswer.UNDECIDED, "across"),
        (estimate(-5, 0), GateAnswer.PASSED, "within"),
        (estimate(-5.01, 0), GateAnswer.WORSE, "beyond"),
        (estimate(-8, n_pairs=9, reason="9 rounds"), GateAnswer.UNMEASURED, "9 rounds"),
        (estimate(None, p=None), GateAnswer.UNMEASURED, "no effect"),
    ],
)
def test_a_metric_is_judged_by_its_interval_alone(item: Estimate, answer: GateAnswer, words: str) -> None:
    verdict = judge_gate([item], 5.0, ANALYSIS)
    case = verdict.cases[0]
    assert (case.subject, case.answer) == ("page_load_time", answer)
    assert words in case.reason
    assert verdict.answer is answer
    assert verdict.passed is (answer is GateAnswer.PASSED)


@pytest.mark.parametrize(
    ("item", "answer", "words"),
    [
        (failed(0), GateAnswer.PASSED, "of 20 rounds the contender failed in 0, the baseline in 0"),
        (failed(10), GateAnswer.WORSE, "worse: of 20 rounds the contender failed in 10, the baseline in 0 (p 0.0010)"),
        (failed(20), GateAnswer.WORSE, "failed in 20"),
        (failed(6), GateAnswer.WORSE, "p 0.016"),
        (failed(5), GateAnswer.UNDECIDED, "(p 0.031): more rounds would decide"),
        (failed(1), GateAnswer.UNDECIDED, "p 0.500"),
        (failed(10, 10, 10), GateAnswer.PASSED, "the baseline in 10"),
        (failed(12, 10, 9), GateAnswer.UNDECIDED, "the contender failed in 12, the baseline in 10"),
        (failed(2, 5, 1), GateAnswer.PASSED, "the baseline in 5"),
        (failed(4, rounds=8), GateAnswer.UNMEASURED, "10 rounds are needed"),
    ],
)
def test_a_contender_that_fails_more_than_its_baseline_fails_the_gate(
    item: Estimate, answer: GateAnswer, words: str
) -> None:
    case = judge_gate([item], 5.0, ANALYSIS).cases[-1]
    assert (case.subject, case.answer) == (FAILURES, answer)
    assert words in case.reason


def test_half_of_the_trials_lost_is_worse_though_the_rest_are_pairs_enough() -> None:
    verdict = judge_gate([failed(10)], 5.0, ANALYSIS)
    assert [case.answer for case in verdict.cases] == [GateAnswer.PASSED, GateAnswer.WORSE]
    assert (verdict.answer, verdict.passed) == (GateAnswer.WORSE, False)


def test_failures_are_judged_once_for_each_network(snapshot: SnapshotAssertion) -> None:
    other: dict[str, Any] = {"cell": {"network": "dsl"}, "cell_id": "dsl"}
    items = [
        estimate(0.0),
        estimate(0.0, **other),
        estimate(0.0, metric="goodput"),
        failed(9, metric="goodput", **other),
    ]
    cases = judge_gate(items, 5.0, ANALYSIS).cases
    assert [case.name for case in cases[4:]] == snapshot


def test_a_comparison_has_the_gravest_of_its_answers() -> None:
    undecided, worse, missing = estimate(-5.5), estimate(-9), estimate(None)
    assert judge_gate([estimate(0.0), undecided], 5.0, ANALYSIS).answer is GateAnswer.UNDECIDED
    assert judge_gate([missing, undecided], 5.0, ANALYSIS).answer is GateAnswer.UNMEASURED
    assert judge_gate([undecided, missing, worse], 5.0, ANALYSIS).answer is GateAnswer.WORSE
    assert judge_gate([], 5.0, ANALYSIS).passed is False


def simulated(effect_pct: float, rng: np.random.Generator) -> Estimate:
    """Return an estimate of 20 rounds of log-normal times whose true effect is known."""
    baseline = np.exp(rng.normal(0, 0.05, 20))
    contender = np.exp(rng.normal(math.log(1 - effect_pct / 100), 0.05, 20))
    values, is_log = procedures.advantages(baseline, contender, Better.LOWER)
    found = procedures.paired(values, procedures.margin(3.0, is_log), ANALYSIS.confidence)
    ends = [procedures.effect_pct(value, Better.LOWER, is_log) for value in (found.mean, found.low, found.high)]
    return estimate(ends[0], ci_low_pct=ends[1], ci_high_pct=ends[2])


def answers(effect_pct: float, count: int = 1000) -> dict[GateAnswer, float]:
    """Return how often each answer comes for a true effect and a gate of 5 %."""
    rng = np.random.default_rng(7)
    found = [judge_gate([simulated(effect_pct, rng)], 5.0, ANALYSIS).cases[0].answer for _ in range(count)]
    return {answer: found.count(answer) / count for answer in GateAnswer}


def test_wrong_answers_are_as_rare_as_promised_where_the_truth_is_at_the_gate() -> None:
    shares = answers(-5.0)
    assert shares[GateAnswer.WORSE] <= 0.035 and shares[GateAnswer.PASSED] <= 0.035


def test_no_effect_and_a_large_one_are_told_apart() -> None:
    none, large = answers(0.0), answers(-12.0)
    assert none[GateAnswer.WORSE] == 0 and none[GateAnswer.PASSED] > 0.8
    assert large[GateAnswer.PASSED] == 0 and large[GateAnswer.WORSE] > 0.9


LOOKS = (10, 12, 14, 16, 19, 22, 26, 31, 37, 40)


def decided(effect_pct: float, random: np.random.Generator) -> tuple[GateAnswer, int]:
    """Return the answer of rounds that stop when they decide, and their number."""
    advantage = random.normal(-math.log(1 - effect_pct / 100), 0.05, LOOKS[-1])
    for count in LOOKS:
        found = sequential.paired(advantage[:count], 0.0, ANALYSIS.confidence, last=count == LOOKS[-1])
        ends = [procedures.effect_pct(value, Better.LOWER, True) for value in (found.mean, found.low, found.high)]
        case = judge_gate([estimate(ends[0], ci_low_pct=ends[1], ci_high_pct=ends[2])], 5.0, ANALYSIS).cases[0]
        if case.answer is not GateAnswer.UNDECIDED:
            return case.answer, count
    return GateAnswer.UNDECIDED, LOOKS[-1]


def test_stopping_when_it_pleases_makes_wrong_answers_no_more_frequent() -> None:
    random = np.random.default_rng(13)
    found = [decided(-5.0, random)[0] for _ in range(500)]
    assert found.count(GateAnswer.WORSE) <= 0.025 * 500 and found.count(GateAnswer.PASSED) <= 0.025 * 500


def test_large_effects_need_few_rounds_and_none_needs_fewer_than_the_largest_number() -> None:
    random = np.random.default_rng(14)
    large, none = ([decided(effect, random) for _ in range(150)] for effect in (-15.0, 0.0))
    assert {answer for answer, _ in large} == {GateAnswer.WORSE} and np.mean([count for _, count in large]) < 15
    answers_of_none = [answer for answer, _ in none]
    assert GateAnswer.WORSE not in answers_of_none and answers_of_none.count(GateAnswer.PASSED) > 0.85 * 150


def test_an_undecided_gate_says_what_random_loss_has_to_do_with_it(snapshot: SnapshotAssertion) -> None:
    (case, _) = judge_gate([estimate(-5.5, random_losses=0.5)], 5.0, ANALYSIS).cases
    assert case.reason == snapshot
    (passed, _) = judge_gate([estimate(0.0, random_losses=0.5)], 5.0, ANALYSIS).cases
    assert "at random" not in passed.reason
