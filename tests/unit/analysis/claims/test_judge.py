from dataclasses import replace

import pytest
from syrupy.assertion import SnapshotAssertion

from longlook.analysis.claims.judge import WelchVerdict, judge, welch_verdict
from longlook.core.codec import canonical
from longlook.core.model import Claim, ExpectedLevel, Verdict
from longlook.core.results import ArmLevel, ClaimResult, Estimate
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
LEANING = replace(UNSURE, ci_low_pct=0.5)
SLIGHT = replace(ESTIMATE, effect_pct=2.5, ci_low_pct=1.0, ci_high_pct=4.0)


def one(claim: Claim, *estimates: Estimate) -> ClaimResult:
    (result,) = judge([claim], estimates, study(["10", "50"]))
    canonical(result)
    assert result.reason
    return result


@pytest.mark.parametrize(
    ("claim", "estimate", "expected"),
    [
        (CLAIM, BETTER, "reproduced"),
        (CLAIM, WORSE, "contradicted"),
        (CLAIM, EQUIVALENT, "contradicted"),
        (CLAIM, UNSURE, "inconclusive"),
        (replace(CLAIM, effect_pct=-38.0), WORSE, "reproduced"),
        (replace(CLAIM, effect_pct=-38.0), BETTER, "contradicted"),
        (NONE, EQUIVALENT, "reproduced"),
        (NONE, UNSURE, "reproduced"),
        (NONE, LEANING, "inconclusive"),
        (NONE, BETTER, "contradicted"),
        (NONE, WORSE, "contradicted"),
        (NONE, SLIGHT, "inconclusive"),
    ],
)
def test_direction(claim: Claim, estimate: Estimate, expected: str) -> None:
    result = one(claim, estimate)
    assert result.result == expected
    assert result.estimate == estimate


@pytest.mark.parametrize(
    ("published", "words"),
    [
        (38.0, "published +38 % is inside our interval +33.0 … +47.0 %"),
        (47.0, "is inside"),
        (47.1, "is outside"),
        (99.0, "published ≥ +99 % is beyond"),
    ],
)
def test_size(published: float, words: str) -> None:
    assert words in one(replace(CLAIM, effect_pct=published), BETTER).reason


def test_a_clipped_value_is_a_bound(snapshot: SnapshotAssertion) -> None:
    assert one(replace(CLAIM, effect_pct=-99.0), WORSE).reason == snapshot
    assert "outside" in one(replace(CLAIM, effect_pct=-99.0, clipped_at_pct=None), WORSE).reason


def test_a_published_number_that_is_not_significant_is_compared_too(snapshot: SnapshotAssertion) -> None:
    result = one(replace(NONE, effect_pct=1.0), EQUIVALENT)
    assert result.result == "reproduced"
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
        assert (result.result, result.reason) == ("not run", "this cell was not run")


def test_not_testable() -> None:
    few = one(CLAIM, replace(UNSURE, n_pairs=9, reason="9 rounds with a value on both arms, 10 needed"))
    assert (few.result, few.reason) == ("not testable", "9 rounds with a value on both arms, 10 needed")
    failed = replace(UNSURE, effect_pct=None, ci_low_pct=None, ci_high_pct=None, reason=None)
    assert one(CLAIM, failed).result == "not testable"
    assert one(replace(CLAIM, effect_pct=None), BETTER).result == "not testable"


def test_a_claim_may_leave_out_factors_that_have_one_level_here() -> None:
    wider = replace(BETTER, cell={"rate": "10", "client": "quic-go"})
    assert one(CLAIM, wider).result == "reproduced"
    ambiguous = one(CLAIM, wider, replace(wider, cell={"rate": "10", "client": "chromium"}))
    assert ambiguous.result == "not testable"
    assert "2 cells" in ambiguous.reason


def test_results_come_in_the_order_of_the_claims() -> None:
    claims = [replace(CLAIM, id=name) for name in "cab"]
    assert [result.claim.id for result in judge(claims, [BETTER], study())] == ["c", "a", "b"]


def test_a_direction_without_a_number_is_judged_and_its_size_is_not() -> None:
    better = replace(CLAIM, effect_pct=None, direction=Verdict.BETTER)
    assert one(better, BETTER).result == "reproduced"
    assert one(better, WORSE).result == "contradicted"
    assert one(better, UNSURE).result == "inconclusive"
    assert "published" in one(better, BETTER).reason and "interval" not in one(better, BETTER).reason


def test_what_no_trial_can_test_says_why() -> None:
    result = one(replace(CLAIM, untestable="both flows would have to share the link"), BETTER)
    assert (result.result, result.reason) == ("not testable", "both flows would have to share the link")


LEVEL = ArmLevel("quic", {"rate": "10"}, "id-10", "share", "%", 10, 60.0, 55.0, 65.0)
EXPECTED = ExpectedLevel("quic", "share", 58.84, at_least=50.0)
OF_LEVEL = Claim("t", "paper", "", {"rate": "10"}, None, significant=True, expected=EXPECTED)


@pytest.mark.parametrize(
    ("at_least", "at_most", "result"),
    [
        (50.0, None, "reproduced"),
        (None, 70.0, "reproduced"),
        (50.0, 70.0, "reproduced"),
        (66.0, None, "contradicted"),
        (None, 54.0, "contradicted"),
        (60.0, None, "inconclusive"),
        (50.0, 60.0, "inconclusive"),
    ],
)
def test_a_level_is_judged_by_its_interval(at_least: float | None, at_most: float | None, result: str) -> None:
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
    assert found.result == "not testable" and reported in found.reason
