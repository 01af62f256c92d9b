"""Which position holds at which level, and what follows: cases worked out by hand, and laws over any values."""

from collections.abc import Sequence
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from syrupy.assertion import SnapshotAssertion

from longlook.core.model import Verdict
from longlook.instruments.atlas.claims.dispute import PREDICTED, Control, DisputeEvidence, Holds, Position
from longlook.instruments.atlas.claims.dispute_judge import (
    ConclusionKind,
    Held,
    Judgement,
    Point,
    conclude_all,
    judge,
    judge_evidence,
)

W, O, A, S, U = Held.WITHIN, Held.OUTSIDE, Held.ACROSS, Held.NOT_APPLICABLE, Held.UNKNOWN  # noqa: E741
AHEAD, BEHIND = Position("ahead", "one", "", Holds(at_least=3)), Position("behind", "other", "", Holds(at_most=-3))
RISES = Position("rises", "one", "", Holds(trend="rises", tolerance=3))
FALLS = Position("falls", "other", "", Holds(trend="falls", tolerance=3))
CONSTANT = Position("constant", "third", "", Holds(trend="constant", tolerance=3))
TRENDS = (RISES, FALLS, CONSTANT)
FLIPS = "size flips the answer between"


def points(*values: float | None, half: float = 1.0) -> list[Point]:
    """A point for each value, with an interval of ± half; None is a level without a value."""
    return [
        Point(f"L{number}", missing="this cell was not run")
        if value is None
        else Point(f"L{number}", value, value - half, value + half, 10)
        for number, value in enumerate(values)
    ]


def evidence(size: int = 4, study: str = "s", **cell: str) -> DisputeEvidence:
    return DisputeEvidence(
        study, "page_load_time", "size", tuple(f"L{n}" for n in range(size)), cell, contrast="quic vs tcp"
    )


@pytest.mark.parametrize(
    ("holds", "expected"),
    [
        (Holds(at_least=10), (W, A, O, U)),
        (Holds(at_most=10), (O, A, W, U)),
        (Holds(at_least=9, at_most=11), (O, W, O, U)),
        (Holds(at_least=-5, at_most=40), (W, W, W, U)),
    ],
)
def test_bounds_are_judged_by_where_the_interval_lies(holds: Holds, expected: tuple[Held, ...]) -> None:
    assert judge(holds, points(20, 10, 0, None)) == expected


@pytest.mark.parametrize(
    ("found", "better", "worse", "equivalent"),
    [
        (Verdict.BETTER, W, O, O),
        (Verdict.WORSE, O, W, O),
        (Verdict.EQUIVALENT, O, O, W),
        (Verdict.INCONCLUSIVE, A, A, A),
        (None, U, U, U),
    ],
)
def test_a_verdict_is_compared_with_the_studys_own(
    found: Verdict | None, better: Held, worse: Held, equivalent: Held
) -> None:
    judgement = None if found is None else Judgement(found, 0.001, 0.1)
    point = Point("L0", n=10, missing="the effect is in %, not in stalls", judgement=judgement)
    verdicts = (Verdict.BETTER, Verdict.WORSE, Verdict.EQUIVALENT)
    assert [judge(Holds(verdict=wanted), [point]) for wanted in verdicts] == [(better,), (worse,), (equivalent,)]


@pytest.mark.parametrize(
    ("values", "rises", "falls", "constant"),
    [
        ((45, 38, 31, 23), (S, O, O, O), (S, W, W, W), (O, O, O, O)),
        ((45, 45, 38, 31), (S, S, O, O), (S, S, W, W), (O, O, O, O)),
        ((10, 30, 50, 20), (S, W, W, O), (S, O, O, W), (O, O, O, O)),
        ((10, 10.5, 10, 10.2), (S, S, S, S), (S, S, S, S), (W, W, W, W)),
        ((0, 2.5, 5, 7.5), (S, A, A, W), (S, A, A, O), (O, A, A, O)),
        ((None, 10, None, 30), (U, S, U, W), (U, S, U, O), (U, O, U, O)),
    ],
)
def test_trends(values: Sequence[float | None], rises: object, falls: object, constant: object) -> None:
    given_points = points(*values)
    assert judge(RISES.holds, given_points) == rises
    assert judge(FALLS.holds, given_points) == falls
    assert judge(CONSTANT.holds, given_points) == constant


def test_a_slow_drift_is_seen_though_no_step_is_larger_than_the_tolerance() -> None:
    drift = points(0, 2, 4, 6, 8, half=0.1)
    assert judge(RISES.holds, drift) == (S, S, W, W, W)
    assert judge(CONSTANT.holds, drift) == (O, O, O, O, O)


@pytest.mark.parametrize(
    ("positions", "values", "kind", "text"),
    [
        ((AHEAD, BEHIND), (20, 30, 15, 8), ConclusionKind.HOLDS, "‘ahead’ holds everywhere"),
        (
            (AHEAD, BEHIND),
            (20, 30, 3, None),
            ConclusionKind.HOLDS,
            "‘ahead’ holds at 2 of 4 levels, open at 2",
        ),
        ((AHEAD, BEHIND), (20, 30, -20, -9), ConclusionKind.FLIPS, f"{FLIPS} L1 and L2: ‘ahead’, then ‘behind’"),
        ((AHEAD, BEHIND), (20, 3, -20, -9), ConclusionKind.FLIPS, f"{FLIPS} L0 and L2: ‘ahead’, then ‘behind’"),
        ((AHEAD, BEHIND), (20, 0, -20, 9), ConclusionKind.FLIPS,
         f"{FLIPS} L0 and L1 and between L1 and L2 and between L2 and L3: "
         "‘ahead’, then none, then ‘behind’, then ‘ahead’"),
        ((AHEAD, BEHIND), (0, 1, 0, 1), ConclusionKind.NONE, "none holds"),
        ((AHEAD, BEHIND), (3, -3, 3, 3), ConclusionKind.OPEN, "open: no level decides"),
        ((AHEAD, BEHIND), (None,) * 4, ConclusionKind.OPEN, "open: this cell was not run"),
        (TRENDS, (45, 45, 38, 31), ConclusionKind.HOLDS, "‘falls’ holds everywhere"),
        (TRENDS, (45, 45, 45.5, 45), ConclusionKind.HOLDS, "‘constant’ holds everywhere"),
        (TRENDS, (10, 30, 50, 20), ConclusionKind.FLIPS, f"{FLIPS} L2 and L3: ‘rises’, then ‘falls’"),
    ],
)  # fmt: skip
def test_conclusions(
    positions: tuple[Position, ...], values: Sequence[float | None], kind: ConclusionKind, text: str
) -> None:
    found = judge_evidence(evidence(), positions, points(*values)).conclusion
    assert (found.kind, found.text) == (kind, text)


def test_positions_that_overlap_can_hold_together(snapshot: SnapshotAssertion) -> None:
    wide, narrow = Position("wide", "", "", Holds(at_least=0)), Position("narrow", "", "", Holds(at_least=20))
    found = judge_evidence(evidence(), (wide, narrow), points(10, 30, 30, 30)).conclusion
    assert (found.kind, found.positions) == (ConclusionKind.HOLDS, ("wide",))
    both = judge_evidence(evidence(), (wide, narrow), points(30, 30, 30, 30)).conclusion
    assert both.text == snapshot


def conclusions(*pieces: tuple[DisputeEvidence, Sequence[float | None]]) -> tuple[ConclusionKind, str]:
    found = conclude_all([judge_evidence(one, (AHEAD, BEHIND), points(*values)) for one, values in pieces])
    return found.kind, found.text


def test_what_several_pieces_of_evidence_come_to() -> None:
    slow, fast = evidence(rate="10Mbit"), evidence(rate="100Mbit")
    ahead, behind, level, flat = (20,) * 4, (-20,) * 4, (None,) * 4, (0,) * 4
    assert conclusions((slow, ahead)) == (ConclusionKind.HOLDS, "‘ahead’ holds everywhere")
    assert conclusions((slow, ahead), (fast, ahead)) == (
        ConclusionKind.HOLDS, "‘ahead’ holds everywhere")  # fmt: skip
    assert conclusions((slow, ahead), (fast, (20, 20, 20, 3))) == (
        ConclusionKind.HOLDS, "‘ahead’ holds in all 2 pieces of evidence, open at 1 of 8 levels")  # fmt: skip
    assert conclusions((slow, ahead), (fast, level)) == (
        ConclusionKind.HOLDS, "‘ahead’ holds in 1 of 2 pieces of evidence, open in 1")  # fmt: skip
    assert conclusions((slow, ahead), (fast, behind)) == (
        ConclusionKind.FLIPS, "rate flips the answer between 10Mbit and 100Mbit: ‘ahead’, then ‘behind’")  # fmt: skip
    assert conclusions((slow, ahead), (fast, flat)) == (
        ConclusionKind.FLIPS, "rate flips the answer between 10Mbit and 100Mbit: ‘ahead’, then none")  # fmt: skip
    assert conclusions((slow, flat), (fast, flat)) == (ConclusionKind.NONE, "none holds")
    assert conclusions((slow, level), (fast, level))[0] is ConclusionKind.OPEN
    other = evidence(study="t", rate="100Mbit")
    assert conclusions((slow, ahead), (other, behind)) == (
        ConclusionKind.DIFFERS,
        "the evidence differs: study s, rate 10Mbit: ‘ahead’ holds everywhere; "
        "study t, rate 100Mbit: ‘behind’ holds everywhere",
    )
    assert conclusions((slow, ahead), (fast, (20, 20, -20, -20))) == (
        ConclusionKind.FLIPS, f"rate 100Mbit: {FLIPS} L1 and L2: ‘ahead’, then ‘behind’")  # fmt: skip


CONTROL = Control("nothing is lost", Holds(trend="constant", tolerance=3))


def test_a_control_decides_nothing_and_the_conclusion_says_so() -> None:
    """Both positions predict the same of the second piece: it must not decide, whatever it shows."""
    lossy, still = evidence(rate="10Mbit"), replace(evidence(rate="10Mbit", study="t"), control=CONTROL)

    def concluded(*pieces: tuple[DisputeEvidence, Sequence[float | None]]) -> tuple[ConclusionKind, str]:
        judged = [judge_evidence(one, TRENDS, points(*values)) for one, values in pieces]
        assert all(judged[-1].answer(number) is None for number in range(4))
        found = conclude_all(judged)
        return found.kind, found.text

    wide, flat, rising = (None, None, None, None), (0, 0, 0, 0), (0, 10, 20, 30)
    assert concluded((lossy, wide), (still, flat)) == (
        ConclusionKind.OPEN,
        "open: this cell was not run; 1 control decides nothing: 1 as all positions predict",
    )
    assert concluded((lossy, rising), (still, rising)) == (
        ConclusionKind.HOLDS,
        "‘rises’ holds everywhere; 1 control decides nothing: 1 not as all positions predict",
    )
    assert concluded((lossy, rising), (lossy, wide), (still, flat), (still, wide)) == (
        ConclusionKind.HOLDS,
        "‘rises’ holds in 1 of 2 pieces of evidence, open in 1; 2 controls decide nothing: 1 as all positions "
        "predict, 1 open",
    )


@pytest.mark.parametrize(
    ("values", "kind", "found"),
    [
        ((0, 0, 0, 0), ConclusionKind.AS_PREDICTED, "as all positions predict"),
        ((0, 0, 0, 20), ConclusionKind.UNPREDICTED, "at 4 of 4 levels not as all positions predict"),
        ((0, 0, 3, 0), ConclusionKind.OPEN, "open at 4 of 4 levels"),
        ((0, 0, None, 0), ConclusionKind.OPEN, "open at 1 of 4 levels"),
    ],
)
def test_a_control_is_compared_with_its_own_condition(
    values: Sequence[float | None], kind: ConclusionKind, found: str
) -> None:
    judged = judge_evidence(replace(evidence(), control=CONTROL), (AHEAD, BEHIND), points(*values))
    assert (judged.conclusion.kind, judged.conclusion.text) == (kind, f"control, decides nothing: {found}")
    assert list(judged.held) == [PREDICTED]


@pytest.mark.parametrize(
    ("verdict", "value", "low", "high", "expected"),
    [
        (Verdict.BETTER, 20, 10, 30, (W, O, O)),
        (Verdict.BETTER, 5, 1, 9, (A, O, A)),
        (Verdict.BETTER, 5, -1, 11, (A, O, A)),  # wider than the verdict's test, which excludes zero
        (Verdict.INCONCLUSIVE, 20, 10, 30, (A, A, A)),  # significant alone, not after the correction
        (Verdict.INCONCLUSIVE, 0, -1, 1, (A, A, A)),
        (Verdict.EQUIVALENT, 2.4, 2.2, 3.4, (A, O, W)),
        (Verdict.WORSE, -20, -30, -10, (O, W, O)),
        (None, 20, 10, 30, (W, O, O)),  # an arm's level has no verdict
    ],
)
def test_a_bound_is_judged_by_the_verdict_of_the_study(
    verdict: Verdict | None, value: float, low: float, high: float, expected: tuple[Held, ...]
) -> None:
    """The bounds are at least 3, at most -3, and between."""
    judgement = None if verdict is None else Judgement(verdict, 0.012, 3)
    point = [Point("L0", value, low, high, 10, judgement=judgement)]
    held = (judge(holds, point) for holds in (AHEAD.holds, BEHIND.holds, Holds(at_least=-3, at_most=3)))
    assert tuple(kind for (kind,) in held) == expected


def test_a_verdict_does_not_decide_a_trend() -> None:
    judgement = Judgement(Verdict.INCONCLUSIVE, 0.5, 3)
    rising = [replace(point, judgement=judgement) for point in points(-10, 0, 10)]
    assert judge(RISES.holds, rising) == (S, W, W)


def test_a_trend_that_does_not_end_where_it_should_holds_nowhere() -> None:
    """26, 43 and 63 % of a fair share rise, and are not fair at the end."""
    shares = points(26, 43, 63)
    rises = Holds(trend="rises", tolerance=3)
    assert judge(replace(rises, ends_at_least=90), shares) == (S, O, O)
    assert judge(replace(rises, ends_at_most=90), shares) == (S, W, W)
    assert judge(replace(rises, ends_at_least=62.5), shares) == (S, A, A)
    assert judge(replace(rises, ends_at_least=60), points(26, 43, None)) == (S, A, U)


def test_a_trend_over_one_factor_is_not_judged_along_another() -> None:
    over = Holds(trend="rises", tolerance=3, over="quality")
    assert judge(over, points(0, 10, None), "quality") == (S, W, U)
    assert judge(over, points(0, 10, None), "rtt") == (S, S, U)


number = st.floats(-1e6, 1e6, allow_nan=False)
spans = st.tuples(number, number).map(lambda pair: (min(pair), max(pair)))
series = st.lists(st.one_of(st.none(), spans), min_size=1, max_size=8).map(
    lambda found: [
        Point(f"L{number}", missing="not run")
        if span is None
        else Point(f"L{number}", (span[0] + span[1]) / 2, span[0], span[1], 10)
        for number, span in enumerate(found)
    ]
)
tolerances = st.floats(0, 1e5)


def mirrored(given_points: Sequence[Point]) -> list[Point]:
    return [
        point
        if point.span is None
        else Point(point.level, -(point.value or 0), -point.span[1], -point.span[0], point.n)
        for point in given_points
    ]


@given(series, tolerances)
def test_what_rises_falls_in_the_mirror(given_points: list[Point], tolerance: float) -> None:
    rises, falls = Holds(trend="rises", tolerance=tolerance), Holds(trend="falls", tolerance=tolerance)
    assert judge(rises, given_points) == judge(falls, mirrored(given_points))
    swapped = {W: O, O: W}
    assert judge(falls, given_points) == tuple(swapped.get(held, held) for held in judge(rises, given_points))
    constant = Holds(trend="constant", tolerance=tolerance or 1)
    assert judge(constant, given_points) == judge(constant, mirrored(given_points))


@given(series, number)
def test_bounds_that_exclude_each_other_never_both_hold(given_points: list[Point], bound: float) -> None:
    above, below = Holds(at_least=bound), Holds(at_most=bound - 1)
    for one, other, point in zip(judge(above, given_points), judge(below, given_points), given_points, strict=True):
        assert not (one is W and other is W)
        assert (one is U) == (other is U) == (point.span is None)
    assert judge(above, given_points) == judge(Holds(at_most=-bound), mirrored(given_points))


@given(series, tolerances)
def test_where_a_trend_holds_constancy_does_not(given_points: list[Point], tolerance: float) -> None:
    rises = judge(Holds(trend="rises", tolerance=tolerance), given_points)
    constant = judge(Holds(trend="constant", tolerance=tolerance), given_points)
    assert not any(one in (W, O) and other is W for one, other in zip(rises, constant, strict=True))


@given(series, st.sampled_from([(AHEAD, BEHIND), TRENDS, (AHEAD, FALLS)]))
def test_any_values_come_to_one_conclusion(given_points: list[Point], positions: tuple[Position, ...]) -> None:
    judged = judge_evidence(evidence(len(given_points)), positions, given_points)
    found = judged.conclusion
    assert found.text and 0 <= found.decided <= found.judged <= len(given_points)
    answers = [judged.answer(number) for number in range(len(given_points))]
    assert found.decided == sum(answer is not None for answer in answers)
    assert (found.kind is ConclusionKind.OPEN) == (found.decided == 0)
    if found.kind is ConclusionKind.HOLDS:
        assert all(set(found.positions) <= answer for answer in answers if answer is not None)
    else:
        assert found.positions == ()
    assert conclude_all([judged]) == found
    assert conclude_all([judged, judged]).kind in (found.kind, ConclusionKind.DIFFERS)
