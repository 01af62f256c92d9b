from dataclasses import replace

import pytest
from syrupy.assertion import SnapshotAssertion

from longlook.analysis.claims.judge import WelchVerdict, judge, welch_verdict
from longlook.core.codec import canonical
from longlook.core.model import Claim, ExpectedLevel, Verdict
from longlook.core.results import Agreement, ArmLevel, ClaimResult, Estimate
from tests.data.samples import study

ESTIMATE = Estimate(
    contrast="main",
    metric="page_load_time",
    unit="s",
    cell={"rate": "10"},
    cell_id="id-10",
    baseline="tcp",
    contender="quic",
    n_baseline=10,
    n_contender=10,
    n_pairs=10,
    baseline_median=2.0,
    contender_median=1.0,
    effect_pct=40.0,
    ci_low_pct=35.0,
    ci_high_pct=45.0,
    p_welch=0.001,
    p_paired=0.001,
    p_mannwhitney=0.001,
    p_equivalence=0.9,
    p_adjusted=0.002,
    verdict=Verdict.BETTER,
    reason=None,
    outcomes={},
)
CLAIM = Claim("c", "paper", "main", {"rate": "10"}, 38.0, significant=True, uncertainty_pct=2.0, clipped_at_pct=99.0)
NONE = replace(CLAIM, effect_pct=None, significant=False)

BETTER = ESTIMATE
WORSE = replace(ESTIMATE, verdict=Verdict.WORSE, effect_pct=-150.0, ci_low_pct=-170.0, ci_high_pct=-120.0)
EQUIVALENT = replace(ESTIMATE, verdict=Verdict.EQUIVALENT, effect_pct=0.5, ci_low_pct=-1.0, ci_high_pct=2.0)
UNSURE = replace(ESTIMATE, verdict=Verdict.INCONCLUSIVE, effect_pct=3.0, ci_low_pct=-4.0, ci_high_pct=10.0)
WIDE = replace(UNSURE, ci_high_pct=10.1)
SLIGHT = replace(ESTIMATE, effect_pct=2.5, ci_low_pct=1.0, ci_high_pct=4.0)
SURELY_SLIGHT = replace(EQUIVALENT, effect_pct=2.37, ci_low_pct=2.26, ci_high_pct=2.45, p_adjusted=0.001)
SENTENCE = replace(CLAIM, effect_pct=None, direction=Verdict.BETTER)


def one(claim: Claim, *estimates: Estimate) -> ClaimResult:
    (result,) = judge([claim], estimates, study(["10", "50"]))
    canonical(result)
    assert result.reason
    return result


def published(effect_pct: float, uncertainty_pct: float = 2.0, clipped_at_pct: float | None = None) -> Claim:
    return replace(CLAIM, effect_pct=effect_pct, uncertainty_pct=uncertainty_pct, clipped_at_pct=clipped_at_pct)


@pytest.mark.parametrize(
    ("claim", "estimate", "expected"),
    [
        (CLAIM, BETTER, Agreement.SAME_SIZE),
        (CLAIM, WORSE, Agreement.CONTRADICTED),
        (CLAIM, WIDE, Agreement.OPEN),
        (published(-150), WORSE, Agreement.SAME_SIZE),
        (published(-38), WORSE, Agreement.OTHER_SIZE),
        (published(-38), BETTER, Agreement.CONTRADICTED),
        (SENTENCE, BETTER, Agreement.SAME_DIRECTION),
        (SENTENCE, WORSE, Agreement.CONTRADICTED),
        (SENTENCE, UNSURE, Agreement.OPEN),
        (NONE, EQUIVALENT, Agreement.NO_DIFFERENCE),
        (NONE, SURELY_SLIGHT, Agreement.NO_DIFFERENCE),
        (NONE, UNSURE, Agreement.NO_DIFFERENCE),
        (NONE, replace(UNSURE, ci_low_pct=0.5), Agreement.NO_DIFFERENCE),
        (NONE, WIDE, Agreement.OPEN),
        (NONE, replace(UNSURE, ci_low_pct=-10.1), Agreement.OPEN),
        (NONE, BETTER, Agreement.CONTRADICTED),
        (NONE, WORSE, Agreement.CONTRADICTED),
        (NONE, SLIGHT, Agreement.OPEN),
    ],
)
def test_results(claim: Claim, estimate: Estimate, expected: Agreement) -> None:
    result = one(claim, estimate)
    assert result.result is expected
    assert result.estimate == estimate


@pytest.mark.parametrize("sign", [1, -1])
@pytest.mark.parametrize(
    ("published_pct", "estimate", "expected"),
    [
        (5.1, EQUIVALENT, Agreement.CONTRADICTED),  # 3.1 at least, and ours excludes 3
        (5.0, EQUIVALENT, Agreement.OPEN),
        (12.1, UNSURE, Agreement.CONTRADICTED),  # 10.1 at least, and ours excludes 10
        (12.0, UNSURE, Agreement.OPEN),
        (12.1, WIDE, Agreement.OPEN),
        (5.1, SURELY_SLIGHT, Agreement.OTHER_SIZE),
        (5.0, SURELY_SLIGHT, Agreement.SAME_SIZE),
        (-5.1, SURELY_SLIGHT, Agreement.CONTRADICTED),
        (-5.0, SURELY_SLIGHT, Agreement.OPEN),
        (-5.1, SLIGHT, Agreement.CONTRADICTED),
        (-5.0, SLIGHT, Agreement.OPEN),
        (-5.0, BETTER, Agreement.CONTRADICTED),
    ],
)
def test_a_size_below_the_margin_contradicts_only_a_difference_beyond_it(
    sign: int, published_pct: float, estimate: Estimate, expected: Agreement
) -> None:
    """The rule for a published difference and our equivalence is that for the opposite case, read backwards."""
    mirrored = {Verdict.BETTER: Verdict.WORSE, Verdict.WORSE: Verdict.BETTER}
    effect, low, high = estimate.effect_pct, estimate.ci_low_pct, estimate.ci_high_pct
    assert effect is not None and low is not None and high is not None
    seen = estimate if sign > 0 else replace(
        estimate, effect_pct=-effect, ci_low_pct=-high, ci_high_pct=-low,
        verdict=mirrored.get(estimate.verdict, estimate.verdict),
    )  # fmt: skip
    assert one(published(sign * published_pct), seen).result is expected


def test_a_sentence_is_taken_for_a_difference_beyond_the_margin() -> None:
    assert one(SENTENCE, EQUIVALENT).result is Agreement.CONTRADICTED
    found = one(SENTENCE, SURELY_SLIGHT)
    assert found.result is Agreement.OTHER_SIZE and "better by less than the margin of 3 %" in found.reason
    assert one(SENTENCE, replace(SURELY_SLIGHT, p_adjusted=0.02)).result is Agreement.CONTRADICTED
    assert one(SENTENCE, replace(SURELY_SLIGHT, ci_low_pct=-0.1)).result is Agreement.CONTRADICTED
    assert one(replace(SENTENCE, direction=Verdict.WORSE), SURELY_SLIGHT).result is Agreement.CONTRADICTED


@pytest.mark.parametrize(
    ("published_pct", "expected"),
    [
        (47.0, Agreement.SAME_SIZE),  # 45, and a reading error of 2
        (47.1, Agreement.SAME_SIZE),  # 0.529 and 0.6: a factor of 1.13
        (25.1, Agreement.SAME_SIZE),  # 0.749 and 0.6: a factor of 1.248
        (24.9, Agreement.OTHER_SIZE),
        (51.9, Agreement.SAME_SIZE),  # 0.481 and 0.6
        (52.1, Agreement.OTHER_SIZE),
    ],
)
def test_a_number_is_of_the_same_size_inside_our_interval_or_within_a_factor(
    published_pct: float, expected: Agreement
) -> None:
    found = one(published(published_pct), BETTER)
    assert found.result is expected
    ratios = sorted([1 - published_pct / 100, 0.6])
    assert found.factor == pytest.approx(ratios[1] / ratios[0])
    assert ("inside" if published_pct == 47.0 else "outside") in found.reason


def test_what_lies_at_the_end_of_the_sources_scale_is_a_bound(snapshot: SnapshotAssertion) -> None:
    beyond = one(published(-99, clipped_at_pct=99), WORSE)
    assert beyond.result is Agreement.SAME_DIRECTION and beyond.reason == snapshot
    short = replace(WORSE, effect_pct=-50.0, ci_low_pct=-55.0, ci_high_pct=-45.0)
    assert one(published(-99, clipped_at_pct=99), short).result is Agreement.OTHER_SIZE  # 1.99 and 1.5
    near = replace(WORSE, effect_pct=-60.0, ci_low_pct=-62.0, ci_high_pct=-58.0)
    assert one(published(-99, clipped_at_pct=99), near).result is Agreement.SAME_DIRECTION  # 1.99 and 1.6
    assert one(published(-99), WORSE).result is Agreement.OTHER_SIZE  # 1.99 and 2.5: 1.256


def test_a_published_number_that_is_not_significant_is_compared_too(snapshot: SnapshotAssertion) -> None:
    result = one(replace(NONE, effect_pct=1.0), EQUIVALENT)
    assert result.result is Agreement.NO_DIFFERENCE
    assert result.reason == snapshot


@pytest.mark.parametrize(
    ("p_welch", "effect_pct", "verdict"),
    [(0.3, 12.0, "no difference"), (0.01, 12.0, "no difference"), (0.002, 12.0, "better"), (0.002, -1.0, "worse")],
)
def test_beside_a_claim_stands_the_verdict_of_the_papers_own_test(
    p_welch: float, effect_pct: float, verdict: str
) -> None:
    found = welch_verdict(one(NONE, replace(EQUIVALENT, p_welch=p_welch, effect_pct=effect_pct)))
    assert found == WelchVerdict(verdict, p_welch)


def test_the_papers_test_says_nothing_of_a_level_or_of_a_single_value() -> None:
    assert welch_verdict(one(CLAIM)) is None
    assert welch_verdict(one(CLAIM, replace(BETTER, p_welch=None))) is None
    assert welch_verdict(one(replace(CLAIM, untestable="no such program"), BETTER)) is None


def test_a_cell_that_the_run_left_out_says_nothing_about_a_claim() -> None:
    for result in (
        one(CLAIM),
        one(CLAIM, replace(BETTER, cell={"rate": "50"})),
        one(CLAIM, replace(BETTER, contrast="other")),
        *judge([OF_LEVEL], [], study(["10", "50"]), [replace(LEVEL, arm="tcp"), replace(LEVEL, cell={"rate": "50"})]),
        *judge([OF_LEVEL], [], study(["10", "50"])),
    ):
        assert (result.result, result.reason) == (Agreement.NOT_RUN, "this cell was not run")


def test_not_testable() -> None:
    few = one(CLAIM, replace(UNSURE, n_pairs=9, reason="9 rounds with a value on both arms, 10 needed"))
    assert (few.result, few.reason) == (Agreement.NOT_TESTABLE, "9 rounds with a value on both arms, 10 needed")
    failed = replace(UNSURE, effect_pct=None, ci_low_pct=None, ci_high_pct=None, reason=None)
    assert one(CLAIM, failed).result == Agreement.NOT_TESTABLE
    assert one(replace(CLAIM, effect_pct=None), BETTER).result == Agreement.NOT_TESTABLE


def test_a_claim_may_leave_out_factors_that_have_one_level_here() -> None:
    wider = replace(BETTER, cell={"rate": "10", "client": "quic-go"})
    assert one(CLAIM, wider).result is Agreement.SAME_SIZE
    ambiguous = one(CLAIM, wider, replace(wider, cell={"rate": "10", "client": "chromium"}))
    assert ambiguous.result == Agreement.NOT_TESTABLE
    assert "2 cells" in ambiguous.reason


def test_results_come_in_the_order_of_the_claims() -> None:
    claims = [replace(CLAIM, id=name) for name in "cab"]
    assert [result.claim.id for result in judge(claims, [BETTER], study())] == ["c", "a", "b"]


def test_a_direction_without_a_number_is_judged_and_its_size_is_not() -> None:
    found = one(SENTENCE, BETTER)
    assert "published" in found.reason and "interval" not in found.reason and found.factor is None


def test_what_no_trial_can_test_says_why() -> None:
    result = one(replace(CLAIM, untestable="both flows would have to share the link"), BETTER)
    assert (result.result, result.reason) == (Agreement.NOT_TESTABLE, "both flows would have to share the link")


LEVEL = ArmLevel("quic", {"rate": "10"}, "id-10", "share", "%", 10, 60.0, 55.0, 65.0)
EXPECTED = ExpectedLevel("quic", "share", 58.84, at_least=50.0)
OF_LEVEL = Claim("t", "paper", "", {"rate": "10"}, None, significant=True, expected=EXPECTED)


@pytest.mark.parametrize(
    ("at_least", "at_most", "result"),
    [
        (50.0, None, Agreement.WITHIN_BOUNDS),
        (None, 70.0, Agreement.WITHIN_BOUNDS),
        (50.0, 70.0, Agreement.WITHIN_BOUNDS),
        (66.0, None, Agreement.CONTRADICTED),
        (None, 54.0, Agreement.CONTRADICTED),
        (60.0, None, Agreement.OPEN),
        (50.0, 60.0, Agreement.OPEN),
    ],
)
def test_a_level_is_judged_by_its_interval(at_least: float | None, at_most: float | None, result: Agreement) -> None:
    expected = replace(EXPECTED, at_least=at_least, at_most=at_most)
    (found,) = judge([replace(OF_LEVEL, expected=expected)], [], study(["10", "50"]), [LEVEL])
    canonical(found)
    assert found.result == result
    assert "published 58.84" in found.reason and "60 (55 … 65) %" in found.reason


def test_a_number_that_is_not_the_sources_is_not_called_published() -> None:
    (derived,) = judge([replace(OF_LEVEL, origin="derived")], [], study(["10", "50"]), [LEVEL])
    assert derived.reason.startswith("derived 58.84, taken as ≥ 50, ours 60")
    (bounds,) = judge([replace(OF_LEVEL, expected=replace(EXPECTED, published=None))], [], study(["10"]), [LEVEL])
    assert bounds.reason.startswith("taken as ≥ 50, ours 60")
    effect = one(replace(CLAIM, origin="read as"), BETTER)
    assert "read as +38 % is inside" in effect.reason and effect.reason.startswith("published better")


@pytest.mark.parametrize(
    ("levels", "reported"),
    [
        ([LEVEL, LEVEL], "2 cells"),
        ([replace(LEVEL, n=3, low=None, high=None)], "3 rounds"),
        ([replace(LEVEL, n=0, median=None, low=None, high=None)], "no kept artefact holds it"),
    ],
)
def test_a_level_that_cannot_be_told_is_not_testable(levels: list[ArmLevel], reported: str) -> None:
    (found,) = judge([OF_LEVEL], [], study(["10", "50"]), levels)
    assert found.result == Agreement.NOT_TESTABLE and reported in found.reason
