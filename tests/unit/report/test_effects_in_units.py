"""Effects, intervals, margins and verdicts in their own unit, wherever they are shown."""

import math
from dataclasses import replace

import pytest

from longlook.core import Analysis, Effect, Estimate, Verdict
from longlook.instruments.compare.gate import GateAnswer, judge_gate
from longlook.report import text, wording
from longlook.report.charts import colours
from tests.data.samples import only, rows, study

STALLS = Effect(1.5, 0.9, 2.2, "stalls", 0.1)


def plain(found: str) -> str:
    return found.replace(wording.NBSP, " ")


@pytest.fixture
def counted() -> Estimate:
    """A contender with 1.5 stalls fewer."""
    tcp, quic = [0.0, 2, 1, 3, 2, 1, 2, 2, 1, 3], [0.0, 0, 0, 1, 0, 0, 0, 1, 0, 0]
    return replace(only(rows(tcp, quic, metric="stalls"), metric="stalls"), difference=STALLS)


@pytest.mark.parametrize(
    ("effect", "shown", "interval"),
    [
        (STALLS, "+1.50 stalls", "0.900 to 2.20 stalls"),
        (Effect(-0.012, -0.02, -0.004, "s", 0.01), "−12.0 ms", "−20.0 to −4.00 ms"),
        (Effect(0.0, 0.0, 0.0, "points", 1.0), "0.00 points", "0.00 to 0.00 points"),
        (Effect(2.0, None, None, "points", 1.0), "+2.00 points", "–"),
    ],
)
def test_a_difference_has_its_sign_and_its_unit(counted: Estimate, effect: Effect, shown: str, interval: str) -> None:
    item = replace(counted, difference=effect)
    assert plain(wording.effect_of(item)) == shown
    assert plain(wording.interval_in_unit(item)) == plain(wording.interval_of(item)) == interval


def test_a_ratio_is_shown_in_percent_as_before() -> None:
    item = only(rows([1.0, 1.1, 1.2] * 4, [0.5, 0.56, 0.6] * 4))
    assert plain(wording.effect_of(item)).endswith("0 %")
    assert not wording.interval_of(item).endswith("%")
    assert wording.interval_in_unit(item).endswith("%")
    assert plain(wording.margin_of(item, Analysis())) == "3 %"


def test_the_margin_is_in_the_unit_of_the_effect(counted: Estimate) -> None:
    assert plain(wording.margin_of(counted, Analysis())) == "0.1 stalls"
    assert plain(wording.margin_of(counted, Analysis(equivalence_margin_pct=10.0))) == "0.1 stalls"


def test_a_known_direction_below_the_margin_has_one_wording(counted: Estimate) -> None:
    small = Effect(0.02, 0.01, 0.03, "stalls", 0.1)
    item = replace(counted, difference=small, verdict=Verdict.EQUIVALENT, p_adjusted=0.001)
    words = "≈ equivalent (better, below the margin)"
    assert wording.verdict(item, Analysis(), {}) == words
    assert text.plain_rows(study(metric="stalls"), [item])[1][-1] == words
    assert wording.verdict(replace(item, p_adjusted=0.5), Analysis(), {}) == "≈ equivalent"
    assert wording.verdict(replace(item, difference=Effect(0.0, -0.01, 0.02, "stalls", 0.1)), Analysis(), {}) == (
        "≈ equivalent"
    )


def test_a_difference_is_coloured_by_its_size_in_margins(counted: Estimate) -> None:
    """A ratio of 30 % is ten margins of 3 %."""
    ten = replace(counted, difference=Effect(-1.0, -1.2, -0.8, "stalls", 0.1), verdict=Verdict.WORSE)
    assert colours.cell_colour(ten) == colours.effect_colour(-30.0)
    assert colours.cell_colour(replace(ten, verdict=Verdict.INCONCLUSIVE)) == colours.NOT_SIGNIFICANT
    without = replace(ten, difference=Effect(-1.0, -1.2, -0.8, "s", 0.0))
    assert colours.cell_colour(without) == colours.effect_colour(-math.inf)


def test_a_gate_in_percent_has_the_metrics_margin_for_a_count(counted: Estimate) -> None:
    def answer(low: float | None, high: float | None) -> GateAnswer:
        item = replace(counted, difference=Effect(-0.05, low, high, "stalls", 0.1))
        return judge_gate([item], 5.0, Analysis()).cases[0].answer

    assert answer(-0.09, 0.01) is GateAnswer.PASSED
    assert answer(-0.5, -0.11) is GateAnswer.WORSE
    assert answer(-0.5, 0.01) is GateAnswer.UNDECIDED
    nothing = only(rows([0.0] * 10, [0.0] * 10, metric="stalls"), metric="stalls")
    case = judge_gate([nothing], 5.0, Analysis()).cases[0]
    assert case.answer is GateAnswer.UNDECIDED
    assert case.reason == (
        "none seen in 10 rounds of either arm: at 97.5 % confidence at most 0.31 stalls a load if no load has more "
        "than one, beyond the metric's margin of 0.1 stalls: more rounds would decide"
    )
    passed = judge_gate([replace(counted, difference=Effect(0.0, -0.09, 0.0, "stalls", 0.1))], 5.0, Analysis())
    assert "within the metric's margin of 0.1 stalls" in passed.cases[0].reason


@pytest.mark.parametrize(
    ("metric", "rounds", "answer"),
    [
        ("stalls", 35, GateAnswer.UNDECIDED),
        ("stalls", 36, GateAnswer.PASSED),  # the least n with 0.9**n <= 0.025
        ("stall_share", 400, GateAnswer.UNDECIDED),
    ],
)
def test_a_gate_passes_what_was_never_seen_if_the_rounds_cannot_have_missed_more_than_its_margin(
    metric: str, rounds: int, answer: GateAnswer
) -> None:
    item = only(rows([0.0] * rounds, [0.0] * rounds, metric=metric), metric=metric)
    case = judge_gate([item], 5.0, Analysis()).cases[0]
    assert case.answer is answer
    assert case.reason.startswith(f"none seen in {rounds} rounds of either arm: at 97.5 % confidence at most ")


def test_a_gate_cannot_bound_an_amount_that_was_never_seen() -> None:
    item = only(rows([0.0] * 400, [0.0] * 400, metric="stall_time"), metric="stall_time")
    case = judge_gate([item], 5.0, Analysis()).cases[0]
    assert (case.answer, case.reason) == (
        GateAnswer.UNDECIDED,
        "none seen in 400 rounds of either arm: how large a value that was not seen may be, nothing says",
    )
