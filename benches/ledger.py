"""Measures the cost of the ledger of a 10 MB trial, facts included, next to the cost of reading its two tables."""

import statistics
import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

from longlook.core import EVENTS, TIMELINE, RunFolder, Trial
from longlook.engines.virtual import VirtualEngine
from longlook.explain import make_ledger
from longlook.pipeline import Observer, RunOptions, run_study
from longlook.study import find_study
from longlook.timeline import Events, Timeline

STUDY = str(Path(__file__).with_name("ledger.toml"))
TARGET_CPU_S = 0.5
REPEATS = 5


def measure() -> dict[str, Any]:
    """Medians for each sender over the same lossy path."""
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / "run"
        run_study(find_study(STUDY), out, RunOptions(VirtualEngine()), Observer())
        run = RunFolder.open(out)
        found = {trial.arm: _of_trial(run.trials / trial.id, trial) for trial in run.plan.trials}
    return {"target_cpu_s": TARGET_CPU_S, **found}


def _of_trial(folder: Path, trial: Trial) -> dict[str, Any]:
    events = Events.read(folder / EVENTS)

    def read() -> Timeline:
        return Timeline.read(folder / TIMELINE).with_events(Events.read(folder / EVENTS))

    reading_s = [_cpu_s(read) for _ in range(REPEATS)]
    timelines = [read() for _ in range(REPEATS)]  # each anew, as facts are kept with their timeline
    making_s = [_cpu_s(partial(make_ledger, timeline, trial)) for timeline in timelines]
    ledger = make_ledger(timelines[0], trial)
    return {
        "rows": timelines[0].table.num_rows + events.table.num_rows,
        "intervals": 0 if ledger is None else ledger.table.num_rows,
        "read_cpu_s": round(statistics.median(reading_s), 3),
        "ledger_cpu_s": round(statistics.median(making_s), 3),
    }


def _cpu_s(call: Callable[[], object]) -> float:
    begun = time.process_time()
    call()
    return time.process_time() - begun
