"""What flips an answer: found where one thing alone differs, and named with the settings in which arms differ."""

from dataclasses import replace

import pytest
from scipy import stats
from syrupy.assertion import SnapshotAssertion

from longlook.core.model import Study
from longlook.instruments.atlas.claims.dispute import (
    Dispute,
    DisputeEvidence,
    Holds,
    Position,
    Settled,
    Undecidable,
    list_disputes,
)
from longlook.instruments.atlas.claims.dispute_flips import Flip, conclude_dispute, find_flips
from longlook.instruments.atlas.claims.dispute_judge import (
    ConclusionKind,
    JudgedEvidence,
    Point,
    conclude_all,
    judge_evidence,
)
from longlook.study.files import find_study, list_studies

AHEAD, BEHIND = Position("ahead", "one", "", Holds(at_least=3)), Position("behind", "other", "", Holds(at_most=-3))
RISES = Position("rises", "one", "", Holds(trend="rises", tolerance=3))
FALLS = Position("falls", "other", "", Holds(trend="falls", tolerance=3))


@pytest.fixture(scope="module")
def studies() -> dict[str, Study]:
    names = ("kakhki2017-fig6a", "kakhki2017-fig8a")
    return {name: find_study(name) for name in names}


def judged(
    values: list[float | None],
    *,
    contrast: str = "quic vs tcp",
    study: str = "kakhki2017-fig6a",
    rate: str = "10Mbit",
    positions: tuple[Position, ...] = (AHEAD, BEHIND),
) -> JudgedEvidence:
    """Values over the sizes 5KB, 10KB, … with intervals of ± 1."""
    levels = ("5KB", "10KB", "100KB", "200KB")[: len(values)]
    given = [
        Point(level, missing="not run") if value is None else Point(level, value, value - 1, value + 1, 10)
        for level, value in zip(levels, values, strict=True)
    ]
    evidence = DisputeEvidence(study, "page_load_time", "size", levels, {"rate": rate}, contrast=contrast)
    return judge_evidence(evidence, positions, given)


def dispute(*positions: Position) -> Dispute:
    return Dispute("d", "?", positions or (AHEAD, BEHIND), ())


def test_a_factor_flips_between_the_levels_that_decide(studies: dict[str, Study]) -> None:
    assert find_flips(dispute(), [judged([20, 0, None, -20])], studies) == (
        Flip("size", "5KB", "10KB", ("ahead",), (), ("",)),
        Flip("size", "10KB", "200KB", (), ("behind",), ("",)),
    )
    assert find_flips(dispute(), [judged([20, 30, None, 9])], studies) == ()


def test_a_contrast_flips_where_all_else_is_the_same_and_its_settings_are_named(studies: dict[str, Study]) -> None:
    pieces = [judged([20, 20]), judged([20, -20], contrast="quic vs bbr tcp")]
    by_contrast = [flip for flip in find_flips(dispute(), pieces, studies) if flip.what == "contrast"]
    assert by_contrast == [
        Flip(
            "contrast",
            "quic vs tcp",
            "quic vs bbr tcp",
            ("ahead",),
            ("behind",),
            ("size 10KB",),
            ("tcp = bbr instead of stock",),
        )
    ]


def test_a_study_flips_by_the_settings_in_which_it_departs(studies: dict[str, Study]) -> None:
    pieces = [judged([20, 20]), judged([-20, -20], study="kakhki2017-fig8a")]
    (flip,) = find_flips(dispute(), pieces, studies)
    assert (flip.what, flip.before_holds, flip.after_holds) == ("study", ("ahead",), ("behind",))
    assert flip.places == ("size 5KB", "size 10KB")
    assert flip.settings == ("network.loss = 1% instead of 0%",)


def test_what_differs_in_two_things_flips_nothing(studies: dict[str, Study]) -> None:
    pieces = [judged([20, 20]), judged([-20, -20], contrast="quic vs bbr tcp", rate="50Mbit")]
    assert find_flips(dispute(), pieces, studies) == ()


def test_an_answer_that_gains_or_loses_a_position_among_others_is_not_flipped(studies: dict[str, Study]) -> None:
    positive = Position("positive", "third", "", Holds(at_least=0))
    both = (AHEAD, positive)
    assert find_flips(dispute(*both), [judged([20, 1.5], positions=both)], studies) == ()


def test_trends_are_compared_along_one_factor(studies: dict[str, Study]) -> None:
    rising, falling = judged([0, 10, 20], positions=(RISES, FALLS)), judged([20, 10, 0], positions=(RISES, FALLS))
    other = replace(falling, evidence=replace(falling.evidence, cell={"rate": "50Mbit"}))
    (flip,) = find_flips(dispute(RISES, FALLS), [rising, other], studies)
    assert (flip.what, flip.before, flip.after) == ("rate", "10Mbit", "50Mbit")
    assert flip.places == ("size 10KB", "size 100KB")
    along_rate = replace(other.evidence, factor="rate", levels=("50Mbit", "100Mbit", "10Mbit"), cell={"size": "10KB"})
    values = zip(along_rate.levels, (20, 10, 0), strict=True)
    points = [Point(level, value, value - 1, value + 1, 10) for level, value in values]
    crossing = judge_evidence(along_rate, (RISES, FALLS), points)
    assert find_flips(dispute(RISES, FALLS), [rising, crossing], studies) == ()


def test_a_conclusion_names_what_is_changed_where_many_changes_flip_the_answer(
    studies: dict[str, Study], snapshot: SnapshotAssertion
) -> None:
    pieces = [judged([20, -20, 20]), judged([-20, 20, 0], contrast="quic vs bbr tcp"), judged([None])]
    flips = find_flips(dispute(), pieces, studies)
    assert len(flips) == 7
    found = conclude_dispute(dispute(), pieces, flips)
    assert found.kind is ConclusionKind.FLIPS
    assert found.text == snapshot
    (few,) = [judged([20, -20])]
    assert conclude_dispute(dispute(), [few], find_flips(dispute(), [few], studies)) == conclude_all([few])


def test_what_cannot_be_decided_says_why_and_what_would(snapshot: SnapshotAssertion) -> None:
    open_question = replace(dispute(), undecidable=Undecidable("no video here.", "a player."))
    found = conclude_dispute(open_question, [], ())
    assert (found.kind, found.positions) == (ConclusionKind.UNDECIDABLE, ())
    assert found.text == snapshot


def test_what_the_sources_print_settles_a_dispute(snapshot: SnapshotAssertion) -> None:
    found = conclude_dispute(replace(dispute(), settled=Settled("ahead", "2 is more than 1.")), [], ())
    assert (found.kind, found.positions) == (ConclusionKind.SETTLED, ("ahead",))
    assert found.text == snapshot


def test_the_arithmetic_of_shipped_disputes_is_right() -> None:
    settled = {item.id: item.settled for item in list_disputes({s.id: s for s in list_studies()}) if item.settled}
    welch = stats.ttest_ind_from_stats(2.71, 0.46, 10, 1.62, 1.27, 10, equal_var=False)
    first, second = 0.46**2 / 10, 1.27**2 / 10
    degrees = (first + second) ** 2 / ((first**2 + second**2) / 9)
    for number in (f"t = {welch.statistic:.2f}", f"{degrees:.1f} degrees", f"p = {welch.pvalue:.3f}"):
        assert number in settled["one-tcp-significance"].by
    times = [rate / (5 / flows) for rate, flows in ((2.71, 2), (2.80, 3), (2.75, 5))]
    assert "{:.2f}, {:.2f} and {:.2f} times".format(*times) in settled["twice-its-share"].by
    assert f"{499 * 0.01:.0f} false ones" in settled["expected-false-cells"].by
