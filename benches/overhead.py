"""Measures the cost of a trial beyond its transfer, from the order to run it until its result is on disk."""

import statistics
import tempfile
import time
from itertools import pairwise
from pathlib import Path
from typing import Any

from longlook.core import Outcome, RunFolder, find_metric
from longlook.engines.live import LiveEngine
from longlook.pipeline import Observer, RunOptions, run_study
from longlook.run import Progress
from longlook.study import find_study
from longlook.timeline import normalise_trial

TARGETS_S = {"quic-go": 0.5, "chromium": 1.0}


def measure(client: str, rounds: int) -> dict[str, Any]:
    """Medians over `rounds` × 2 trials of a 100 KB page at 50 Mbit/s, after the first (which starts a browser)."""
    study = find_study(str(Path(__file__).with_name("overhead.toml")), rounds=rounds, changes={"client": client})
    stamps: list[tuple[str, float]] = []

    def note(step: Progress) -> None:
        if step.run.outcome is Outcome.OK:
            stamps.append((step.trial.id, time.monotonic()))

    with tempfile.TemporaryDirectory() as place:
        path = Path(place) / "run"
        run_study(study, path, RunOptions(LiveEngine()), Observer(progress=note))
        folder = RunFolder.open(path)
        trials = {trial.id: trial for trial in folder.plan.trials}
        overheads: list[float] = []
        phases: dict[str, list[float]] = {"setup_s": [], "measure_s": [], "teardown_s": []}
        for (_, before), (trial_id, after) in pairwise(stamps):
            run = folder.result(trial_id)
            if run is None or run.attempt > 1:
                continue
            timeline = normalise_trial(folder.trials / trial_id, trials[trial_id], run)
            transfer_s = find_metric("page_load_time").measure(timeline)
            if transfer_s is not None:
                overheads.append(after - before - transfer_s)
                for phase, values in phases.items():
                    values.append(getattr(run, phase))
    return {
        "trials": len(overheads),
        "overhead_s_median": round(statistics.median(overheads), 4),
        "overhead_s_p90": round(statistics.quantiles(overheads, n=10)[8], 4),
        "target_s": TARGETS_S[client],
        **{f"{phase}_median": round(statistics.median(values), 4) for phase, values in phases.items()},
    }
