"""Rounds that stop when they suffice, with made-up results in place of a laboratory."""

from pathlib import Path

import pandas as pd
import pytest

from longlook.core.errors import MachineError
from longlook.core.job import Job
from longlook.core.model import Outcome, Run, Study, Verdict
from longlook.core.run_folder import RunFolder
from longlook.engines.fake import FakeEngine
from longlook.pipeline.options import Observer, RunOptions
from longlook.pipeline.run import run_study
from longlook.run.tally import Progress
from longlook.study.files import find_study
from longlook.study.plan import make_plan

TINY = str(Path(__file__).parents[2] / "data" / "tiny.toml")
SMALL, LARGE = "5KB", "100KB"


@pytest.fixture(autouse=True)
def no_report(monkeypatch: pytest.MonkeyPatch) -> None:
    """Reports take longer than everything else here."""
    monkeypatch.setattr("longlook.pipeline.analyse.write_report", lambda folder, _content: folder / "index.html")


@pytest.fixture(scope="module")
def study() -> Study:
    return find_study(TINY, rounds="decide", changes={"max_rounds": "16"})


class Uneven(FakeEngine):
    """QUIC is much faster with the small object; with the large one it differs by less than the noise."""

    def run(self, job: Job) -> Run:
        large = job.trial.cell["size"] == LARGE
        self.factors, self.sigma = ({"quic": 1.45}, 0.1) if large else ({"quic": 0.5}, 0.02)
        return super().run(job)


def rounds_of(path: Path) -> dict[str, int]:
    samples = pd.read_parquet(path / "samples.parquet")
    return {str(cell): int(number) + 1 for cell, number in samples.groupby("cell")["round"].max().items()}


def test_a_cell_stops_when_it_is_decided_and_another_goes_on(study: Study, tmp_path: Path) -> None:
    seen: list[Progress] = []
    said: list[str] = []
    options = RunOptions(Uneven())
    result = run_study(study, tmp_path / "run", options, Observer(progress=seen.append, say=said.append))
    assert rounds_of(tmp_path / "run") == RunFolder.open(tmp_path / "run").manifest["rounds"] == {SMALL: 12, LARGE: 16}
    by_cell = {item.cell_id: item for item in result.estimates}
    assert (by_cell[SMALL].verdict, by_cell[SMALL].n_pairs) == (Verdict.BETTER, 12)
    assert (by_cell[LARGE].verdict, by_cell[LARGE].n_pairs) == (Verdict.INCONCLUSIVE, 16)
    assert f"decided after 12 rounds: {SMALL}" in said
    assert f"not decided after 16 rounds, the largest number: {LARGE}" in said
    assert (seen[0].total, seen[-1].done, seen[-1].total) == (64, 56, 56)


def test_an_arm_that_never_succeeds_ends_its_cell(study: Study, tmp_path: Path) -> None:
    failing = {trial.id: Outcome.FAILED for trial in make_plan(study).trials if trial.arm == "quic"}
    run_study(study, tmp_path / "run", RunOptions(FakeEngine(outcomes=failing)), Observer())
    assert rounds_of(tmp_path / "run") == {SMALL: 10, LARGE: 10}


class Stopping(Uneven):
    """The machine stops after some trials."""

    def run(self, job: Job) -> Run:
        if len(self.ran) == 45:
            raise MachineError("the disk is full", "make room")
        return super().run(job)


def test_a_run_that_is_continued_stops_where_it_would_have_stopped(study: Study, tmp_path: Path) -> None:
    with pytest.raises(MachineError, match="full"):
        run_study(study, tmp_path / "run", RunOptions(Stopping()), Observer())
    again = Uneven()
    run_study(study, tmp_path / "run", RunOptions(again, resume=True), Observer())
    assert len(again.ran) == 56 - 45
    assert rounds_of(tmp_path / "run") == {SMALL: 12, LARGE: 16}
