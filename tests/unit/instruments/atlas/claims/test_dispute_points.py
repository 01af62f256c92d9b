"""The values of a run for a piece of evidence, in the unit of its metric's effects."""

import pytest

from longlook.core.model import Study, Verdict
from longlook.core.results import Effect, Estimate
from longlook.instruments.atlas.claims.dispute import DisputeEvidence, Holds
from longlook.instruments.atlas.claims.dispute_judge import Held, judge
from longlook.instruments.atlas.claims.dispute_points import points_of
from longlook.study.files import list_studies

EVIDENCE = DisputeEvidence("kakhki2017-tab6", "stalls", "quality", ("hd2160",), {"rate": "100Mbit"}, contrast="stalls")


@pytest.fixture(scope="module")
def study() -> Study:
    return next(study for study in list_studies() if study.id == "kakhki2017-tab6")


def estimate(difference: Effect | None, pct: float | None, rounds: int = 10) -> Estimate:
    low, high = (None, None) if pct is None else (pct - 5, pct + 5)
    return Estimate(
        "stalls", "stalls", "stalls", {"rate": "100Mbit", "quality": "hd2160"}, "c", "tcp", "quic", rounds, rounds,
        rounds, 2.0, 5.0, pct, low, high, None, None, None, None, 0.001, Verdict.WORSE, None, {}, difference=difference,
    )  # fmt: skip


def test_an_effect_of_a_count_is_a_difference_in_its_unit(study: Study) -> None:
    (point,) = points_of(EVIDENCE, [estimate(Effect(-3.0, -3.5, -2.0, "stalls", 0.1), None)], study)
    assert (point.value, point.low, point.high, point.missing) == (-3.0, -3.5, -2.0, None)
    assert point.judgement is not None and point.judgement.margin == 0.1
    assert judge(Holds(at_most=-1), [point]) == (Held.WITHIN,)


def test_an_effect_in_another_unit_has_no_value_and_keeps_its_verdict(study: Study) -> None:
    (point,) = points_of(EVIDENCE, [estimate(None, -120.0)], study)
    assert (point.value, point.missing) == (None, "the effect is in %, not in stalls")
    assert judge(Holds(at_most=-1), [point]) == (Held.UNKNOWN,)
    assert judge(Holds(verdict=Verdict.WORSE), [point]) == (Held.WITHIN,)


def test_too_few_rounds_leave_no_verdict(study: Study) -> None:
    (point,) = points_of(EVIDENCE, [estimate(Effect(-3.0, -3.5, -2.0, "stalls", 0.1), None, rounds=3)], study)
    assert point.missing is not None and "too few" in point.missing
    assert judge(Holds(verdict=Verdict.WORSE), [point]) == (Held.UNKNOWN,)
