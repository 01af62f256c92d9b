"""The stages between raw artefacts and samples, trial by trial and on all processors: normalise, then measure."""

import os
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from multiprocessing import get_context
from pathlib import Path

import pandas as pd

from longlook import registry
from longlook.metrics import Metric
from longlook.metrics.goodput import goodput_timeline
from longlook.model import Outcome, Run, Study, Trial
from longlook.normalise import normalise_trial
from longlook.store import RunFolder
from longlook.timeline import Timeline

GOODPUT_BINS_S = (0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0)
"""Widths of a bin of goodput over time; the first that needs no more than GOODPUT_MOST_BINS is taken."""
GOODPUT_MOST_BINS = 60


@dataclass(frozen=True)
class Measured:
    """An attempt and its metrics by name, empty unless it went well; None where there is nothing to measure."""

    trial: Trial
    run: Run
    values: dict[str, float | None]
    goodput: pd.DataFrame | None = None  # trial_id, arm, cell_id, round, time_s, mbps


def measure_all(folder: RunFolder, study: Study, report: Callable[[int, int], None]) -> list[Measured]:
    """Every attempt of every trial in the order of the plan. Writes `timeline.parquet` beside each good attempt."""
    attempts = [(trial, path, run) for trial in folder.plan.trials for path, run in folder.attempts(trial.id)]
    measured = []
    for entry in _map([(path, trial, run, study.metrics) for trial, path, run in attempts]):
        measured.append(entry)
        report(len(measured), len(attempts))
    return measured


def _map(work: list[tuple[Path, Trial, Run, tuple[str, ...]]]) -> Iterator[Measured]:
    if len(work) < 20:  # starting processes would take longer
        yield from map(_measure, work)
        return
    # Forked workers would inherit the parent's threads in an unknown state.
    with ProcessPoolExecutor(os.cpu_count(), mp_context=get_context("spawn")) as pool:
        yield from pool.map(_measure, work, chunksize=8)


def _measure(work: tuple[Path, Trial, Run, tuple[str, ...]]) -> Measured:
    path, trial, run, names = work
    if run.outcome is not Outcome.OK:
        return Measured(trial, run, {})
    timeline = normalise_trial(path, trial, run)
    timeline.write(path / "timeline.parquet")
    values = {name: metric.measure(timeline) for name, metric in _metrics(names)}
    return Measured(trial, run, values, _goodput(trial, timeline))


def _goodput(trial: Trial, timeline: Timeline) -> pd.DataFrame | None:
    window = timeline.load_window_ns()
    if window is None:
        return None
    load_s = (window[1] - window[0]) / 1e9
    fitting = (width for width in GOODPUT_BINS_S if load_s / width <= GOODPUT_MOST_BINS)
    table = goodput_timeline(timeline, next(fitting, load_s / GOODPUT_MOST_BINS))
    frame = pd.DataFrame({"time_s": table["t_s"].to_numpy(), "mbps": table["goodput_mbps"].to_numpy()})
    return frame.assign(trial_id=trial.id, arm=trial.arm, cell_id=trial.cell_id, round=trial.round)


def _metrics(names: Iterable[str]) -> Iterator[tuple[str, Metric]]:
    for name in names:
        yield name, registry.get("metrics", name)
