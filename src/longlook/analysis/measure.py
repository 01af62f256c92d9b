"""The stages between raw artefacts and samples, trial by trial and on all processors: normalise, then measure."""

import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, field, replace
from functools import cached_property
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import numpy as np

from longlook.analysis.congestion_check import COLUMNS, contradictions
from longlook.analysis.measure_cache import MeasureCache
from longlook.analysis.outputs import OUTPUTS, Attempt, Columns
from longlook.analysis.parameter_check import COLUMNS as PARAMETER_COLUMNS
from longlook.analysis.parameter_check import parameter_contradictions, sets_parameters
from longlook.core.model import Outcome, Run, Study, Trial
from longlook.core.run_folder import EVENTS, TIMELINE, RunFolder
from longlook.metrics import Metric, find_metric
from longlook.timeline.events import Events
from longlook.timeline.normalise import normalise_trial
from longlook.timeline.timeline import Timeline
from longlook.timeline.trial_events import needs_events, write_events

_POINTS = "points"
"""The table of OUTPUTS that metrics which compare arms read."""

_WORTH_PROCESSES = 20
"""Attempts: for fewer, starting processes would take longer than measuring."""


@dataclass(frozen=True)
class Measured:
    """An attempt with its metrics by name. `values` is empty unless it went well; a value is None if it cannot be
    measured.
    """

    trial: Trial
    run: Run
    values: dict[str, float | None]
    tables: Mapping[str, Columns | None] = field(default_factory=dict)
    """The rows of each of OUTPUTS by its name."""


def measure_all(folder: RunFolder, study: Study, report: Callable[[int, int], None]) -> list[Measured]:
    """Return every attempt of every trial in the order of the plan.

    Write `timeline.parquet` beside each good attempt, and `events.parquet` if it captured traces.
    """
    return compared(measure_trials(folder, study, folder.plan.trials, report), study)


def measure_trials(
    folder: RunFolder, study: Study, trials: Iterable[Trial], report: Callable[[int, int], None]
) -> list[Measured]:
    """Return every attempt of some trials, as `measure_all` does, but without the metrics that compare arms."""
    cache = MeasureCache(study.metrics)
    attempts = [(trial, path, run) for trial in trials for path, run in folder.attempts(trial.id)]
    work = [_Work(path, trial, run, study.metrics) for trial, path, run in attempts]
    found = [_known(item, cache) for item in work]
    fresh = _map([item for item, known in zip(work, found, strict=True) if known is None])
    measured = []
    for known in found:
        measured.append(known or next(fresh))
        report(len(measured), len(attempts))
    return measured


def compared(measured: list[Measured], study: Study) -> list[Measured]:
    """Return the same attempts with the metrics that compare arms: each trial with the reference arm's of its cell and
    round.

    The reference's own trial is compared with that of the cell's next round, and the last one with the first.
    """
    metrics = [(name, metric.compare) for name, metric in _metrics(study.metrics) if metric.compare is not None]
    if not metrics:
        return measured
    points = {
        (entry.trial.cell_id, entry.trial.round): _pairs(of_reference)
        for entry in measured
        if entry.trial.arm == study.analysis.reference and (of_reference := entry.tables.get(_POINTS)) is not None
    }
    last: dict[str, int] = {}  # cells may have had different numbers of rounds
    for entry in measured:
        last[entry.trial.cell_id] = max(entry.trial.round, last.get(entry.trial.cell_id, 0))
    found = []
    for entry in measured:
        own, count = entry.trial.arm == study.analysis.reference, last[entry.trial.cell_id] + 1
        number = (entry.trial.round + 1) % count if own else entry.trial.round
        other = points.get((entry.trial.cell_id, number))
        mine = entry.tables.get(_POINTS)
        if mine is not None and other is not None and not (own and count == 1):
            values = {name: compare(_pairs(mine), other) for name, compare in metrics}
            entry = replace(entry, values={**entry.values, **values})  # noqa: PLW2901
        found.append(entry)
    return found


@dataclass(frozen=True)
class _Work:
    path: Path
    trial: Trial
    run: Run
    metrics: tuple[str, ...]

    @cached_property
    def key(self) -> str:
        """The key of its measurements in the cache."""
        return MeasureCache(self.metrics).key(self.path, self.trial, self.run)


def _known(work: _Work, cache: MeasureCache) -> Measured | None:
    """Return the result of an attempt that needs no measuring: one that did not go well, or one in the cache."""
    if work.run.outcome is not Outcome.OK:
        return Measured(work.trial, work.run, {})
    data = cache.fetch(work.key, work.path)
    return None if data is None else _measured(work, data)


def _map(work: list[_Work]) -> Iterator[Measured]:
    if len(work) < _WORTH_PROCESSES:
        yield from map(_measure, work)
        return
    # Forked workers would inherit the parent's threads in an unknown state.
    with ProcessPoolExecutor(os.cpu_count(), mp_context=get_context("spawn")) as pool:
        yield from pool.map(_measure, work, chunksize=8)


def _measure(work: _Work) -> Measured:
    timeline = normalise_trial(work.path, work.trial, work.run)
    (work.path / TIMELINE).unlink(missing_ok=True)  # of an earlier Longlook it may be the cache's too
    timeline.write(work.path / TIMELINE)
    traced = write_events(work.path, work.trial, work.run, timeline, work.path / EVENTS)
    if traced and needs_events(work.metrics):
        timeline = timeline.with_events(Events.read(work.path / EVENTS))
    attempt = Attempt(work.path, work.trial, work.run, work.metrics, timeline, work.path / EVENTS if traced else None)
    data: dict[str, Any] = {
        "values": {name: metric.measure(timeline) for name, metric in _metrics(work.metrics)},
        "tables": {output.name: output.of(attempt) for output in OUTPUTS},
    }
    if traced and (wrong := _contradicted(work, timeline)):
        data = {"values": {}, "tables": {}, "contradicted": "; ".join(wrong)}
    made = [TIMELINE, EVENTS] if traced else [TIMELINE]
    MeasureCache(work.metrics).keep(work.key, work.path, data, made)
    return _measured(work, data)


def _contradicted(work: _Work, timeline: Timeline) -> list[str]:
    """Return what the traces of a trial contradict of its declaration."""
    wrong = contradictions(work.trial, timeline, Events.read(work.path / EVENTS, COLUMNS))
    if sets_parameters(work.trial):
        wrong += parameter_contradictions(work.trial, timeline, Events.read(work.path / EVENTS, PARAMETER_COLUMNS))
    return wrong


def _measured(work: _Work, data: Mapping[str, Any]) -> Measured:
    run = work.run
    if (wrong := data.get("contradicted")) is not None:
        hint = "the program ignored its configuration: see its knob, and longlook stacks check"
        run = replace(run, outcome=Outcome.INVALID, reason=wrong, hint=hint)
    return Measured(work.trial, run, data["values"], data["tables"])


def _pairs(points: Columns) -> np.ndarray[Any, np.dtype[np.float64]]:
    return np.column_stack([np.asarray(points[name], np.float64) for name in ("mbps", "delay_ms")])


def _metrics(names: Iterable[str]) -> Iterator[tuple[str, Metric]]:
    for name in names:
        yield name, find_metric(name)
