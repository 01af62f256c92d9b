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

from longlook.analysis.measure_cache import MeasureCache
from longlook.analysis.outputs import OUTPUTS, Attempt, Columns
from longlook.analysis.trace_checks import (
    CONGESTION_COLUMNS,
    PARAMETER_COLUMNS,
    contradictions,
    parameter_contradictions,
    sets_parameters,
)
from longlook.core import EVENTS, TIMELINE, Metric, Outcome, Run, RunFolder, Study, Trial, find_metric
from longlook.timeline import Events, Timeline, needs_events, normalise_trial, random_losses, write_events

_POINTS = "points"
"""The table of OUTPUTS that metrics which compare arms read."""

_WORTH_PROCESSES = 20
"""Attempts: for fewer, starting processes would take longer than measuring."""


@dataclass(frozen=True)
class MeasuredAttempt:
    """An attempt with its metrics by name. `values` is empty unless it went well; a value is None if it cannot be
    measured.
    """

    trial: Trial
    run: Run
    values: dict[str, float | None]
    tables: Mapping[str, Columns | None] = field(default_factory=dict)
    """The rows of each of OUTPUTS by its name."""
    random_losses: int | None = None
    """The packets of the load that its links lost at random; None if that is not known."""


def measure_all(folder: RunFolder, study: Study, report: Callable[[int, int], None]) -> list[MeasuredAttempt]:
    """Return every attempt of every trial in the order of the plan.

    Write `timeline.parquet` next to each good attempt, and `events.parquet` if it captured traces. `report` gets how
    many attempts are done, and of how many.
    """
    return with_comparisons(measure_trials(folder, study, folder.plan.trials, report), study)


def measure_trials(
    folder: RunFolder, study: Study, trials: Iterable[Trial], report: Callable[[int, int], None]
) -> list[MeasuredAttempt]:
    """Return every attempt of some trials, as `measure_all` does, but without the metrics that compare arms."""
    pending = [
        _Measurement(path, trial, run, study.metrics) for trial in trials for path, run in folder.attempts(trial.id)
    ]
    known = [each.known() for each in pending]
    fresh = _in_parallel([each for each, found in zip(pending, known, strict=True) if found is None])
    measured = []
    for found in known:
        measured.append(found or next(fresh))
        report(len(measured), len(pending))
    return measured


def with_comparisons(measured: list[MeasuredAttempt], study: Study) -> list[MeasuredAttempt]:
    """Return the same attempts with the metrics that compare arms: each trial with the reference arm's of its cell and
    round.

    The reference's own trial is compared with its trial of the cell's next round, and the last one with the first.
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
class _Measurement:
    """The measurement of one attempt: its folder, trial, record and the metrics that are wanted."""

    path: Path
    trial: Trial
    run: Run
    metrics: tuple[str, ...]

    @cached_property
    def key(self) -> str:
        """The key of its result in the cache."""
        return MeasureCache(self.metrics).key(self.path, self.trial, self.run)

    def known(self) -> MeasuredAttempt | None:
        """Return the result if nothing must be measured: the attempt did not go well, or the cache has its result."""
        if self.run.outcome is not Outcome.OK:
            return MeasuredAttempt(self.trial, self.run, {})
        data = MeasureCache(self.metrics).fetch(self.key, self.path)
        return None if data is None else self._result(data)

    def make(self) -> MeasuredAttempt:
        """Normalise the attempt, measure it, keep the result in the cache and return it."""
        timeline = normalise_trial(self.path, self.trial, self.run)
        (self.path / TIMELINE).unlink(missing_ok=True)  # of an earlier Longlook it may be the cache's too
        timeline.write(self.path / TIMELINE)
        events = self.path / EVENTS
        traced = write_events(self.path, self.trial, self.run, timeline, events)
        if traced and needs_events(self.metrics):
            timeline = timeline.with_events(Events.read(events))
        attempt = Attempt(self.path, self.trial, self.run, self.metrics, timeline, events if traced else None)
        data: dict[str, Any] = {
            "values": {name: metric.measure(timeline) for name, metric in _metrics(self.metrics)},
            "tables": {output.name: output.of(attempt) for output in OUTPUTS},
            "random_losses": random_losses(timeline),
        }
        if traced and (wrong := self._contradicted(timeline)):
            data = {"values": {}, "tables": {}, "random_losses": None, "contradicted": "; ".join(wrong)}
        MeasureCache(self.metrics).keep(self.key, self.path, data, [TIMELINE, EVENTS] if traced else [TIMELINE])
        return self._result(data)

    def _contradicted(self, timeline: Timeline) -> list[str]:
        """Return what the traces of a trial contradict of its declaration."""
        events = self.path / EVENTS
        wrong = contradictions(self.trial, timeline, Events.read(events, CONGESTION_COLUMNS))
        if sets_parameters(self.trial):
            wrong += parameter_contradictions(self.trial, timeline, Events.read(events, PARAMETER_COLUMNS))
        return wrong

    def _result(self, data: Mapping[str, Any]) -> MeasuredAttempt:
        run = self.run
        if (wrong := data.get("contradicted")) is not None:
            hint = "the program ignored its configuration: see its knob, and longlook stacks check"
            run = replace(run, outcome=Outcome.INVALID, reason=wrong, hint=hint)
        return MeasuredAttempt(self.trial, run, data["values"], data["tables"], data["random_losses"])


def _in_parallel(pending: list[_Measurement]) -> Iterator[MeasuredAttempt]:
    """Yield the results in order; many are made on all processors."""
    if len(pending) < _WORTH_PROCESSES:
        yield from map(_Measurement.make, pending)
        return
    # Forked workers would inherit the parent's threads in an unknown state.
    with ProcessPoolExecutor(os.cpu_count(), mp_context=get_context("spawn")) as pool:
        for each, made in zip(pending, pool.map(_Measurement.make, pending, chunksize=8), strict=True):
            MeasureCache(each.metrics).offer(each.key)  # nothing stands behind the caches of these processes
            yield made


def _pairs(points: Columns) -> np.ndarray[Any, np.dtype[np.float64]]:
    return np.column_stack([np.asarray(points[name], np.float64) for name in ("mbps", "delay_ms")])


def _metrics(names: Iterable[str]) -> Iterator[tuple[str, Metric]]:
    for name in names:
        yield name, find_metric(name)
