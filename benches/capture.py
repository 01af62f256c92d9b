"""Measures the cost of each collector of traces in real time: the same trials with it and without."""

import statistics
import tempfile
from dataclasses import replace
from pathlib import Path
from typing import Any

from longlook.core import Capture, Outcome, RunFolder, find_metric
from longlook.engines.live import LiveEngine
from longlook.pipeline import Observer, RunOptions, run_study
from longlook.study import find_study
from longlook.timeline import normalise_trial, trace_sizes

CAPTURES = {"none": Capture(), "qlog": Capture(qlog=True), "tcp": Capture(tcp=True)}


def measure() -> dict[str, Any]:
    """Medians over the trials of a 10 MB download at 50 Mbit/s, by arm and what was captured.

    CPU seconds of a trial count although the guard refused it because the machine was busy, its load time does not.
    A stack writes its qlog within its own CPU time; the kernel's records have a recorder of their own (`tracer`).
    """
    study = find_study(str(Path(__file__).with_name("capture.toml")))
    found: dict[str, Any] = {arm.name: {} for arm in study.arms}
    with tempfile.TemporaryDirectory() as place:
        for name, capture in CAPTURES.items():
            path = Path(place) / name
            run_study(replace(study, capture=capture), path, RunOptions(LiveEngine()), Observer())
            folder = RunFolder.open(path)
            for arm, measured in found.items():
                measured[name] = _medians(folder, arm)
    return found


def _medians(folder: RunFolder, arm: str) -> dict[str, float]:
    """CPU seconds by program, bytes of traces; load time where a trial was valid."""
    rows: list[dict[str, float]] = []
    for trial in folder.plan.trials:
        run = folder.result(trial.id)
        if trial.arm != arm or run is None or run.outcome not in (Outcome.OK, Outcome.INVALID):
            continue
        own = folder.trials / trial.id
        values = {f"{role}_cpu_s": seconds for role, seconds in run.cpu_s.items()}
        values["trace_bytes"] = sum(trace_sizes(own).values())
        load_s = find_metric("page_load_time").measure(normalise_trial(own, trial, run))
        if run.outcome is Outcome.OK and load_s is not None:
            values["load_s"] = load_s
        rows.append(values)
    keys = sorted({key for row in rows for key in row})
    medians = {key: statistics.median(row[key] for row in rows if key in row) for key in keys}
    valid = sum("load_s" in row for row in rows)
    return {"trials": len(rows), "valid": valid, **{key: round(value, 4) for key, value in medians.items()}}
