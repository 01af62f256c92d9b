"""The stages between raw artefacts and samples, trial by trial and on all processors: normalise, then measure."""

import os
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from multiprocessing import get_context
from pathlib import Path

import pandas as pd

from longlook import registry
from longlook.measurecache import MeasureCache
from longlook.metrics import Metric
from longlook.metrics.goodput import goodput_timeline
from longlook.model import Outcome, Run, Study, Trial
from longlook.normalise import normalise_trial
from longlook.store import TIMELINE, RunFolder
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
    cache = MeasureCache(study.metrics)
    attempts = [(trial, path, run) for trial in folder.plan.trials for path, run in folder.attempts(trial.id)]
    work = [_Work(path, trial, run, study.metrics, cache.key(path, trial, run)) for trial, path, run in attempts]
    found = [_known(item, cache) for item in work]
    fresh = _map([item for item, known in zip(work, found, strict=True) if known is None])
    measured = []
    for known in found:
        measured.append(known or next(fresh))
        report(len(measured), len(attempts))
    return measured


@dataclass(frozen=True)
class _Work:
    path: Path
    trial: Trial
    run: Run
    metrics: tuple[str, ...]
    key: str | None  # in the cache


def _known(work: _Work, cache: MeasureCache) -> Measured | None:
    """What needs no measuring: an attempt that did not go well, or one that the cache holds."""
    if work.run.outcome is not Outcome.OK:
        return Measured(work.trial, work.run, {})
    data = None if work.key is None else cache.fetch(work.key, work.path)
    if data is None:
        return None
    return Measured(work.trial, work.run, data["values"], _goodput_frame(work.trial, data["goodput"]))


def _map(work: list[_Work]) -> Iterator[Measured]:
    if len(work) < 20:  # starting processes would take longer
        yield from map(_measure, work)
        return
    # Forked workers would inherit the parent's threads in an unknown state.
    with ProcessPoolExecutor(os.cpu_count(), mp_context=get_context("spawn")) as pool:
        yield from pool.map(_measure, work, chunksize=8)


def _measure(work: _Work) -> Measured:
    timeline = normalise_trial(work.path, work.trial, work.run)
    (work.path / TIMELINE).unlink(missing_ok=True)  # it may be the cache's too
    timeline.write(work.path / TIMELINE)
    values = {name: metric.measure(timeline) for name, metric in _metrics(work.metrics)}
    goodput = _goodput(timeline)
    if work.key is not None:
        MeasureCache(work.metrics).keep(work.key, work.path, {"values": values, "goodput": goodput})
    return Measured(work.trial, work.run, values, _goodput_frame(work.trial, goodput))


def _goodput(timeline: Timeline) -> dict[str, list[float]] | None:
    window = timeline.load_window_ns()
    if window is None:
        return None
    load_s = (window[1] - window[0]) / 1e9
    fitting = (width for width in GOODPUT_BINS_S if load_s / width <= GOODPUT_MOST_BINS)
    table = goodput_timeline(timeline, next(fitting, load_s / GOODPUT_MOST_BINS))
    return {"time_s": table["t_s"].to_pylist(), "mbps": table["goodput_mbps"].to_pylist()}


def _goodput_frame(trial: Trial, columns: dict[str, list[float]] | None) -> pd.DataFrame | None:
    if columns is None:
        return None
    frame = pd.DataFrame({name: pd.Series(values, dtype=float) for name, values in columns.items()})
    return frame.assign(trial_id=trial.id, arm=trial.arm, cell_id=trial.cell_id, round=trial.round)


def _metrics(names: Iterable[str]) -> Iterator[tuple[str, Metric]]:
    for name in names:
        yield name, registry.get("metrics", name)
