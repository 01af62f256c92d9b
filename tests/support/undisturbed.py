"""Trials in real time on a busy machine: what the validity guard rejects is run again, as a run does."""

import shutil
from pathlib import Path

from longlook.core import Engine
from longlook.core.job import Job
from longlook.core.model import Outcome, Run
from longlook.engines.live import LiveEngine
from longlook.lab.guard import findings
from tests.support.realtime import HostWasLate

ATTEMPTS = 4


def was_disturbed(run: Run) -> bool:
    """Whether the guard found the host too busy; an outcome that the programs caused is not repeated."""
    return run.outcome is Outcome.INVALID and bool(run.guard) and bool(findings(run.guard))


def run_undisturbed(engine: Engine, job: Job) -> Run:
    """The first run of a job that the host did not disturb, or the last of ATTEMPTS."""
    run = engine.run(job)
    for _ in range(ATTEMPTS - 1):
        if not was_disturbed(run):
            break
        shutil.rmtree(job.folder)
        Path(job.folder).mkdir()
        run = engine.run(job)
    return run


class UndisturbedEngine(LiveEngine):
    """The live engine, with trials repeated where the host disturbed them; HostWasLate if it disturbed them all."""

    def run(self, job: Job) -> Run:
        run = run_undisturbed(super(), job)  # type: ignore[arg-type]
        if was_disturbed(run):
            raise HostWasLate(run.reason)
        return run
