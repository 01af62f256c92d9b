"""A budget of real time: whole rounds, a report of them, and a run that goes on."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from longlook.core.model import Study
from longlook.core.run_folder import RunFolder
from longlook.engines.fake import FakeEngine
from longlook.pipeline.budget import NOTE, Budget
from longlook.pipeline.options import Observer, RunOptions
from longlook.pipeline.run import run_study
from longlook.study.files import find_study
from tests.conftest import TINY
from tests.support.command_line import call_longlook
from tests.unit.pipeline.test_rounds import Uneven


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[float]]:
    """A clock that goes on by ten seconds whenever a budget asks for the time."""
    now = [0.0]

    def tick() -> float:
        now[0] += 10
        return now[0]

    monkeypatch.setattr("longlook.pipeline.budget.monotonic", tick)
    yield now


def test_a_round_runs_if_it_is_expected_to_end_in_time(clock: list[float]) -> None:
    budget = Budget(45)  # at 10
    assert [budget.allows(4) for _ in range(4)] == [True, True, True, False]  # at 20, 30, 40, and 50 is the end
    larger = Budget(60)
    assert [larger.allows(4), larger.allows(4), larger.allows(40)] == [True, True, False]
    assert all(Budget(None).allows(10**9) for _ in range(3))


def test_whole_rounds_run_and_the_rest_is_named(study: Study, tmp_path: Path, clock: list[float]) -> None:
    said: list[str] = []
    options = RunOptions(FakeEngine(), budget_s=30)
    result = run_study(study, tmp_path / "run", options, Observer(say=said.append))
    folder = RunFolder.open(tmp_path / "run")
    rounds = {trial.round for trial in folder.plan.trials if folder.result(trial.id) is not None}
    assert rounds == {0, 1}
    assert folder.manifest[NOTE] == {"rounds": 2, "of": 3, "trials": 4}
    assert "finished_unix_s" not in folder.manifest
    sentence = "The budget was spent after 2 of 3 rounds: 4 trials have not run."
    assert sentence in said
    assert sentence in result.report.read_text()
    run_study(study, tmp_path / "run", RunOptions(FakeEngine(), resume=True), Observer(say=said.append))
    again = RunFolder.open(tmp_path / "run")
    assert again.manifest[NOTE] is None
    assert all(again.result(trial.id) is not None for trial in again.plan.trials)
    assert sentence not in result.report.read_text()


def test_undecided_cells_alone_get_more_rounds(tmp_path: Path, clock: list[float]) -> None:
    study = find_study(str(TINY), rounds="decide", changes={"max_rounds": "16"})
    run_study(study, tmp_path / "run", RunOptions(Uneven(), budget_s=25), Observer())
    folder = RunFolder.open(tmp_path / "run")
    assert folder.manifest[NOTE] == {"rounds": 12, "of": 16, "trials": 8}  # of the cell that is not decided
    assert set(folder.manifest["rounds"].values()) == {12}
    run_study(study, tmp_path / "run", RunOptions(Uneven(), resume=True), Observer())
    assert sorted(RunFolder.open(tmp_path / "run").manifest["rounds"].values()) == [12, 16]


@pytest.mark.parametrize("text", ["soon", "0min", "-3min", "10", "nanh", ""])
def test_what_is_no_time_is_refused(text: str) -> None:
    answer = call_longlook("run", "demo", "--budget", text, "--dry-run")
    assert answer.returncode == 2
    assert "10min" in answer.stderr
