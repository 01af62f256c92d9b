"""The order of the stages and what is kept of every attempt, with made-up results in place of a laboratory."""

from collections import Counter
from collections.abc import Mapping
from pathlib import Path

import pandas as pd
import pytest

from longlook.core.errors import InputError, MachineError
from longlook.core.job import Job
from longlook.core.model import Outcome, Run, Study, Verdict
from longlook.core.run_folder import RunFolder
from longlook.engines.fake import FakeEngine
from longlook.pipeline.analyse import Result, analyse_run
from longlook.pipeline.options import Observer, RunOptions
from longlook.pipeline.run import run_study
from longlook.run.tally import Progress
from longlook.study.files import find_study
from longlook.study.plan import make_plan

TINY = str(Path(__file__).parents[2] / "data" / "tiny.toml")


@pytest.fixture(scope="module")
def study() -> Study:
    return find_study(TINY, rounds=10)


def run(study: Study, engine: FakeEngine, path: Path, *, resume: bool = False) -> Result:
    return run_study(study, path, RunOptions(engine, resume=resume), Observer())


def test_a_faster_arm_is_found_in_every_cell(study: Study, tmp_path: Path) -> None:
    result = run(study, FakeEngine(factors={"quic": 0.5}), tmp_path / "run")
    assert [estimate.verdict for estimate in result.estimates] == [Verdict.BETTER] * 2
    assert result.outcomes == {Outcome.OK: 40}
    assert result.report.is_file()
    assert result.report.stat().st_size > 1000


def test_failures_are_counted_and_never_crash_a_verdict(study: Study, tmp_path: Path) -> None:
    plan = make_plan(study)
    failing = {trial.id: Outcome.FAILED for trial in plan.trials if trial.arm == "quic"}
    result = run(study, FakeEngine(outcomes=failing), tmp_path / "run")
    for estimate in result.estimates:
        assert estimate.verdict is Verdict.INCONCLUSIVE
        assert estimate.effect_pct is None
        assert estimate.outcomes == {"quic:failed": 10, "tcp:ok": 10}
    samples = pd.read_parquet(tmp_path / "run" / "samples.parquet")
    assert samples[samples.outcome == "failed"].value.isna().all()


class Recovering(FakeEngine):
    """The first attempt at every trial is disturbed."""

    def run(self, job: Job) -> Run:
        self.outcomes = {job.trial.id: Outcome.INVALID} if job.attempt == 1 else {}
        return super().run(job)


def test_disturbed_attempts_are_repeated_and_kept(study: Study, tmp_path: Path) -> None:
    seen: list[Progress] = []
    engine = Recovering()
    result = run_study(study, tmp_path / "run", RunOptions(engine), Observer(progress=seen.append))
    assert result.outcomes == {Outcome.INVALID: 40, Outcome.OK: 40}
    assert Counter(step.retried for step in seen) == {True: 40, False: 40}
    assert seen[-1].done == seen[-1].total == 40
    samples = pd.read_parquet(tmp_path / "run" / "samples.parquet")
    assert set(samples.attempt) == {1, 2}


def test_a_trial_that_stays_invalid_ends_as_invalid(study: Study, tmp_path: Path) -> None:
    bad = make_plan(study).trials[0].id
    result = run(study, FakeEngine(outcomes={bad: Outcome.INVALID}), tmp_path / "run")
    assert result.outcomes == {Outcome.OK: 39, Outcome.INVALID: 1 + study.retries_when_invalid}


class FillingDisk(FakeEngine):
    """Stops the machine after some trials."""

    def run(self, job: Job) -> Run:
        if len(self.ran) == 7:
            raise MachineError("the disk is full", "make room")
        return super().run(job)


def test_what_was_finished_survives_and_is_not_run_again(study: Study, tmp_path: Path) -> None:
    with pytest.raises(MachineError, match="full"):
        run(study, FillingDisk(), tmp_path / "run")
    engine = FakeEngine()
    result = run(study, engine, tmp_path / "run", resume=True)
    assert len(engine.ran) == 33
    assert result.outcomes == {Outcome.OK: 40}
    again = FakeEngine()
    run(study, again, tmp_path / "run", resume=True)
    assert again.ran == []


def test_a_failed_installation_leaves_no_folder(study: Study, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object) -> None:
        raise MachineError("the build failed", "see its log")

    monkeypatch.setattr("longlook.pipeline.run.provide_for", fail)
    with pytest.raises(MachineError, match="build failed"):
        run(study, FakeEngine(), tmp_path / "run")
    assert not (tmp_path / "run").exists()


def test_a_taken_folder_is_refused_before_anything_is_installed(
    study: Study, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("longlook.pipeline.run.provide_for", lambda *_: pytest.fail("something was installed"))
    (tmp_path / "thesis.tex").write_text("do not touch")
    with pytest.raises(InputError, match="not empty"):
        run(study, FakeEngine(), tmp_path)


def test_nothing_finished_is_no_report(study: Study, tmp_path: Path) -> None:
    class Broken(FakeEngine):
        def run(self, job: Job) -> Run:
            raise MachineError("no namespaces", "run as root")

    with pytest.raises(MachineError):
        run(study, Broken(), tmp_path / "run")
    with pytest.raises(InputError, match="no finished trial"):
        analyse_run(RunFolder.open(tmp_path / "run"), Observer())


def test_equal_runs_make_equal_reports(study: Study, tmp_path: Path) -> None:
    pages: list[Mapping[str, bytes]] = []
    for _ in range(2):
        folder = RunFolder.open(run(study, FakeEngine(), tmp_path / "run", resume=(tmp_path / "run").exists()).path)
        pages.append({str(file): file.read_bytes() for file in sorted((folder.path / "report").rglob("*.html"))})
    assert pages[0] == pages[1]
    assert pages[0]
