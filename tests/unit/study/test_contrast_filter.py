"""`--only contrast=NAME`: what stays of a study, and that its trials are the same ones."""

from pathlib import Path

import pytest
from syrupy.assertion import SnapshotAssertion

from longlook.core.errors import InputError
from longlook.core.model import Study
from longlook.study.contrast_filter import levels_of, with_contrasts
from longlook.study.plan import make_plan
from tests.data.studies import CATALOGUE, problems, read, study_file

LADDER = """
[arms.paced]
protocol = "h2"
connection = "cold"
tcp = "tuned"

[arms.bbr]
protocol = "h2"
connection = "cold"
tcp = "bbr"

[[contrasts]]
name = "quic vs paced"
baseline = "paced"
contender = "quic"
metric = "page_load_time"
family = "ladder"

[[contrasts]]
name = "quic vs bbr"
baseline = "bbr"
contender = "quic"
metric = "handshake_time"
family = "ladder"

[[claims]]
id = "level"
source = "somebody"
arm = "bbr"
cell = { rate = "10Mbit", size = "small" }
metrics.page_load_time = { at_least = 1 }
"""


@pytest.fixture
def study(tmp_path: Path) -> Study:
    return read(study_file(tmp_path, more=LADDER))


def test_one_contrast_has_its_arms_and_its_claims(study: Study, snapshot: SnapshotAssertion) -> None:
    paper = with_contrasts(study, ["contrast=quic vs tcp", "rate=10Mbit"])
    assert [arm.name for arm in paper.arms] == ["tcp", "quic"]
    assert [contrast.name for contrast in paper.contrasts] == snapshot
    assert {claim.id for claim in paper.claims} == {"fig1 10Mbit small", "fig1 10Mbit large"}


def test_a_family_is_chosen_by_its_name_and_several_are_alternatives(study: Study, snapshot: SnapshotAssertion) -> None:
    ladder = with_contrasts(study, ["contrast=ladder"])
    assert [arm.name for arm in ladder.arms] == ["quic", "paced", "bbr"]
    assert [claim.id for claim in ladder.claims] == snapshot
    two = with_contrasts(study, ["contrast=quic vs bbr", "contrast=quic vs tcp"])
    assert [arm.name for arm in two.arms] == ["tcp", "quic", "bbr"]


def test_its_trials_are_those_of_the_whole_study_in_their_order(study: Study) -> None:
    paper = with_contrasts(study, ["contrast=quic vs tcp"])
    whole = [trial for trial in make_plan(study, (), CATALOGUE).trials if trial.arm in ("tcp", "quic")]
    assert list(make_plan(paper, (), CATALOGUE).trials) == whole


def test_without_such_a_filter_the_study_is_whole(study: Study) -> None:
    assert with_contrasts(study, ["rate=10Mbit"]) is study


def test_the_arm_that_metrics_compare_with_stays(tmp_path: Path) -> None:
    study = read(study_file(tmp_path, more=LADDER + '\n[analysis]\nreference = "paced"\n'))
    assert [arm.name for arm in with_contrasts(study, ["contrast=quic vs tcp"]).arms] == ["tcp", "quic", "paced"]


def test_filters_of_levels_go_to_the_plan() -> None:
    assert levels_of(["contrast=quic vs tcp", "rate=10Mbit", "size=small"]) == ("rate=10Mbit", "size=small")


def test_an_unknown_contrast_is_an_error_that_lists_them(study: Study, snapshot: SnapshotAssertion) -> None:
    with pytest.raises(InputError, match="no such contrast; did you mean 'quic vs bbr'") as caught:
        with_contrasts(study, ["contrast=quic vs bbbr"])
    assert caught.value.hint == snapshot


def test_no_factor_may_take_the_word(tmp_path: Path, snapshot: SnapshotAssertion) -> None:
    found = problems(study_file(tmp_path, ('name = "size"', 'name = "contrast"')))
    assert found == snapshot
