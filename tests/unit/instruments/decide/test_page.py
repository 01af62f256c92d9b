"""A finished run asked for users: its answers, its page, and what cannot be asked. No trial runs again."""

import json
from pathlib import Path

import pytest

from longlook.core import InputError, RunFolder
from longlook.engines.fake import FakeEngine
from longlook.instruments.decide.page import write_page
from longlook.instruments.decide.texts import population_text
from longlook.pipeline import Observer, RunOptions, UsersAnswered, answer_users, run_study, users_of
from longlook.study.files import find_study
from tests.conftest import TINY

USERS = """
schema = 1
title = "Two sizes"
source = "made up"
networks = [{ label = "any", share = "100%", rate = "10Mbit", rtt = "36ms" }]
outside = "nearest"

[factors.size]
5KB = "75%"
100KB = "25%"
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> RunFolder:
    monkeypatch.setenv("LONGLOOK_TRIALS", str(tmp_path / "cache"))
    study = find_study(str(TINY), rounds=8)
    run_study(study, tmp_path / "run", RunOptions(FakeEngine()), Observer())
    return RunFolder.open(tmp_path / "run")


def asked(folder: RunFolder, text: str = USERS, metrics: tuple[str, ...] = ()) -> UsersAnswered:
    path = folder.path.parent / "users.toml"
    path.write_text(text)
    return answer_users(folder, users_of(folder, path), metrics)


def test_a_run_answers_for_every_metric_and_its_page_has_all_numbers(folder: RunFolder, tmp_path: Path) -> None:
    found = asked(folder)
    assert {answer.metric for answer in found.answers} | {*found.without} == {*folder.study.metrics}
    (first, *_) = found.answers
    assert sorted(cell.share_pct for cell in first.cells) == pytest.approx([25, 75])
    assert first.better.value + first.worse.value + first.alike.value == pytest.approx(100)
    page = write_page(tmp_path / "page", population_text(folder, found), found)
    html = page.read_text()
    assert "Two sizes" in html
    assert "Who gains and who loses" in html
    numbers = json.loads((tmp_path / "page" / "answer.json").read_text())
    assert len(numbers["answers"]) == len(found.answers)
    assert numbers["answers"][0]["levels"][0]["baseline"]["value"] == first.levels[0].baseline.value


def test_other_shares_give_another_answer_from_the_same_trials(folder: RunFolder) -> None:
    before = {path.name for path in folder.trials.iterdir()}
    one = asked(folder).answers[0].levels[0].baseline.value
    other = asked(folder, USERS.replace("75%", "25%", 1).replace('100KB = "25%"', '100KB = "75%"')).answers[0]
    assert other.levels[0].baseline.value > one
    assert {path.name for path in folder.trials.iterdir()} == before


def test_what_cannot_be_asked_is_refused(folder: RunFolder) -> None:
    with pytest.raises(InputError, match="has no population of its own"):
        users_of(folder, None)
    with pytest.raises(InputError, match="not measured in this run"):
        asked(folder, metrics=("stalls",))
    with pytest.raises(InputError, match="no factor of"):
        asked(folder, USERS.replace("factors.size", "factors.colour"))
    (folder.path / "samples.parquet").unlink()
    with pytest.raises(InputError, match="was not measured yet"):
        asked(folder)
