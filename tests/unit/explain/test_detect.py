"""What detectors suspect together, and that a cause whose code is faulty costs nothing but itself."""

from dataclasses import replace
from typing import Any

import pytest
from syrupy.assertion import SnapshotAssertion

from longlook.explain.cause import Cause, Change, Finding, Intervention, Purpose, Sign, Target, Touches, Untestable
from longlook.explain.detect import proposed, suspect
from longlook.explain.ledger import LedgerClass
from longlook.explain.pair import Pair
from tests.data.sides import USEFUL, pair, side

SLOWER = pair(side(None, (USEFUL, 100.0), (LedgerClass.TIMER, 50.0)))
CURE = Intervention(Purpose.CURE, Target.LOSER, Touches.MECHANISM, Change("another timer", {"tcp_rto_min": "10ms"}))
GOOD = Cause(
    "good", "Good", "about {dose:.0f}", "nobody", "server", (), (),
    lambda _pair: Sign(10**7, dose=3.0), lambda _finding, _pair: (CURE,),
)  # fmt: skip


def raises(*_: object) -> Any:
    raise ZeroDivisionError("a fault of the plug-in")


def seeing(sign: Any) -> Cause:
    return replace(GOOD, name="bad", detect=lambda _pair: sign)


@pytest.mark.parametrize(
    "bad",
    [
        pytest.param(replace(GOOD, name="bad", detect=raises), id="raises"),
        pytest.param(seeing("nonsense"), id="no sign"),
        pytest.param(seeing(Sign(1.5)), id="no integer"),  # type: ignore[arg-type]
        pytest.param(seeing(Sign(10**7, dose=float("nan"))), id="no number"),
        pytest.param(replace(GOOD, name="bad", sentence="it is {height}"), id="unknown value"),
        pytest.param(replace(GOOD, name="bad", sentence="it is {dose:d}"), id="wrong format"),
    ],
)
def test_a_faulty_detector_is_named_and_the_others_are_asked(bad: Cause, snapshot: SnapshotAssertion) -> None:
    suspected = suspect({0: SLOWER, 1: SLOWER}, {"bad": bad, "good": GOOD})
    assert [finding.cause for finding in suspected.findings] == ["good"]
    assert suspected.broken["bad"] == snapshot


def test_causes_that_save_little_of_the_gap_are_not_suspected() -> None:
    weak = replace(GOOD, name="weak", detect=lambda _pair: Sign(10**6))
    strong = replace(GOOD, name="strong", detect=lambda _pair: Sign(2 * 10**7))
    suspected = suspect({0: SLOWER}, {"good": GOOD, "strong": strong, "weak": weak})
    assert [finding.cause for finding in suspected.findings] == ["strong", "good"]
    assert suspected.broken == {}


def of(items: Any) -> Any:
    return lambda _finding, _pair: items


@pytest.mark.parametrize(
    "interventions",
    [
        pytest.param(raises, id="raises"),
        pytest.param(of(None), id="none"),
        pytest.param(of(["a text"]), id="a text"),
        pytest.param(of([replace(CURE, kind="cure")]), id="no kind"),  # type: ignore[arg-type]
        pytest.param(of([replace(CURE, target="nobody")]), id="no target"),  # type: ignore[arg-type]
        pytest.param(of([replace(CURE, dose=float("inf"))]), id="endless dose"),
        pytest.param(of([replace(CURE, change=Change("x", {"tcp_rto_min": float("nan")}))]), id="no number"),
        pytest.param(of([replace(CURE, change=Change("x", {"tcp_rto_min": None}))]), id="no value"),  # type: ignore[dict-item]
    ],
)
def test_faulty_interventions_cannot_be_tested_and_the_reason_is_given(interventions: Any) -> None:
    items = proposed(replace(GOOD, interventions=interventions), a_finding(SLOWER), SLOWER)
    assert [type(item) for item in items] == [Untestable]
    assert isinstance(items[0], Untestable) and "its interventions failed with" in items[0].reason


def test_interventions_come_as_the_cause_gives_them() -> None:
    assert proposed(GOOD, a_finding(SLOWER), SLOWER) == (CURE,)


def test_a_sentence_without_a_dose_has_a_gap_in_its_place() -> None:
    finding = a_finding(SLOWER)
    assert GOOD.said_of(finding) == "about 3"
    assert GOOD.said_of(replace(finding, signs={0: Sign(10**7)})) == "about …"


def a_finding(tested: Pair) -> Finding:
    (finding,) = suspect({0: tested}, {"good": GOOD}).findings
    return finding
