"""Cases with planted causes: what they are made of, and how what was said of them is counted."""

from collections.abc import Iterator
from dataclasses import replace

import pytest

from longlook.core import registry
from longlook.core.paths import adapters_dir
from longlook.explain.answer import Answer, Explained, FoundBy, Judged, Status
from longlook.explain.attribution import Conclusion, Share
from longlook.explain.cause import Says, causes
from longlook.instruments.certify.planted import PlantedMatrix, judged, study_of
from longlook.instruments.certify.planted_cases import CASES, PATCHED, Planted

NAMES = [case.name for case in CASES]


@pytest.fixture(autouse=True)
def plugins(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """The stacks with patched libraries, for these tests alone."""
    monkeypatch.setenv("LONGLOOK_PLUGINS", "")
    registry.add_plugins(*(adapters_dir() / folder for folder in PATCHED))
    yield
    monkeypatch.undo()
    registry.forget()


@pytest.mark.parametrize("case", CASES, ids=NAMES)
def test_a_case_is_a_study_whose_arms_differ_in_what_is_planted_alone(case: Planted) -> None:
    study = study_of(case)
    first, second = study.arms
    differing = {
        key for key in {*first.settings, *second.settings} if first.settings.get(key) != second.settings.get(key)
    }
    assert differing == set(case.planted)
    assert {arm.label for arm in study.arms} == {"arm a", "arm b"}


def test_names_are_their_own_and_every_cause_that_is_expected_exists() -> None:
    assert len(set(NAMES)) == len(NAMES)
    known = causes()
    for case in CASES:
        assert {*case.expected, *case.also, *case.where} <= set(known)
        assert all(known[name].says is Says.WHY for name in case.expected)
        assert all(known[name].says is Says.WHERE or known[name].where for name in case.where)
        assert case.end in ("", "server", "client")


def test_there_are_cases_that_patch_libraries_and_decoys_that_change_the_occasion_alone() -> None:
    patched = [case for case in CASES if case.name.startswith("patched: ")]
    assert len(patched) >= 4
    assert any(len(case.expected) > 1 and len(case.planted) > 1 for case in patched)  # a truth at each end
    assert any(case.end for case in patched)
    for case in patched:
        ends = {key for key in case.planted if key in ("server", "client")}
        stacks = {registry.stack(str(case.planted[key]).partition("@")[0]).summary for key in ends}
        assert ends and all(text.endswith("with patches") for text in stacks)
    occasions = [case for case in CASES if not case.expected and case.where and case not in patched]
    assert sum(case.name.startswith("decoy: ") for case in occasions) >= 3
    assert all(key.startswith("network.") for case in occasions for key in case.planted)


def test_a_place_is_no_blame_and_a_true_place_that_is_not_said_is_counted() -> None:
    case = Planted("a decoy", (), {}, {}, where=("random_loss_response", "tail_loss"))
    found = judged(case, answer(explained("random_loss_response", Conclusion.WHERE)))
    assert (found.placed, found.not_placed, found.wrong) == (("random_loss_response",), ("tail_loss",), ())
    blamed = judged(case, answer(explained("window_after_loss", Conclusion.CONFIRMED)))
    assert blamed.wrong == ("window_after_loss",)
    assert PlantedMatrix((found, blamed)).decoys == (2, 1)


def test_a_cause_of_the_other_end_is_wrong_whatever_its_name() -> None:
    case = Planted("a client", ("ack_starvation",), {}, {}, also=("pacing_limited",), end="client")
    own = replace(explained("ack_starvation", Conclusion.CONFIRMED), role="client")
    found = judged(case, answer(own, explained("pacing_limited", Conclusion.CONFIRMED)))
    assert (found.missed, found.wrong) == ((), ("pacing_limited",))
    swapped = judged(case, answer(own, explained("server_version", Conclusion.WHICH_END)))
    assert swapped.wrong == ("server_version",)


def test_the_planted_cause_is_in_either_arm() -> None:
    """Else whoever always blames the same arm would be right."""
    told = [case for case in CASES if not set(case.planted) & set(case.base)]
    ill = [next(arm.name for arm in study_of(case).arms if set(case.planted) <= set(arm.settings)) for case in told]
    assert {"a", "b"} == set(ill)


def explained(cause: str, conclusion: Conclusion, share_pct: float = 100.0) -> Explained:
    share = Share(share_pct, share_pct - 1, share_pct + 1)
    cure = Judged("a cure", "loser", conclusion, 10, share, 50.0, 0.001, {})
    return Explained(cause, "", "", "", "a", "server", conclusion, 100.0, 10, (), cures=(cure,))


def answer(*findings: Explained) -> Answer:
    status = Status.EXPLAINED if findings else Status.NO_GAP
    return Answer("s", {}, "c", "b vs a", "page_load_time", status, "", "", gap_pct=40.0, findings=findings)


CASE = Planted("a case", ("stream_credit",), {}, {}, also=("late_credit",))
DECOY = Planted("a decoy", (), {}, {})


def test_what_was_confirmed_and_not_planted_is_wrong_unless_it_is_another_name_of_it() -> None:
    found = judged(
        CASE,
        answer(
            explained("stream_credit", Conclusion.CONFIRMED, 97.0),
            explained("late_credit", Conclusion.CONFIRMED_BOTH_WAYS),
            explained("initial_window", Conclusion.CONFIRMED),
            explained("pacing_limited", Conclusion.REFUTED),
        ),
    )
    assert (found.missed, found.wrong) == ((), ("initial_window",))
    assert (found.change, found.share_pct, found.ci_low_pct, found.ci_high_pct) == ("a cure", 97.0, 96.0, 98.0)
    assert found.suspected == ("stream_credit", "late_credit", "initial_window", "pacing_limited")


def test_the_matrix_counts_causes_and_decoys() -> None:
    matrix = PlantedMatrix(
        (
            judged(CASE, answer(explained("stream_credit", Conclusion.CONFIRMED))),
            judged(CASE, answer(explained("stream_credit", Conclusion.INCONCLUSIVE))),
            judged(DECOY, answer()),
            judged(DECOY, answer(explained("initial_window", Conclusion.CONFIRMED))),
        )
    )
    assert (matrix.planted, matrix.recalled) == (2, 1)
    assert (matrix.confirmed, matrix.wrong) == (2, 1)
    assert matrix.decoys == (2, 1)


def test_a_search_is_right_where_it_finds_the_planted_setting_and_single_losses_do_not_count() -> None:
    case = Planted("a case", ("window_capped",), {}, {"server_knobs.max_window": 20})
    found = judged(
        case,
        answer(
            replace(explained("server_knobs.max_window", Conclusion.CONFIRMED), found_by=FoundBy.SCREENING),
            replace(explained("server_knobs.pacing", Conclusion.CONFIRMED), found_by=FoundBy.SCREENING),
            replace(explained("losses", Conclusion.CONFIRMED), found_by=FoundBy.LOSSES),
        ),
    )
    assert found.wrong == ("server_knobs.pacing",)
    assert found.missed == ("window_capped",)
    assert "losses" not in found.suspected
