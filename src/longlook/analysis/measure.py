"""The stages between raw artefacts and samples, trial by trial and on all processors: normalise, then measure."""

import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import asdict, dataclass, replace
from functools import cached_property
from itertools import chain, repeat
from multiprocessing import get_context
from operator import attrgetter
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from longlook.analysis.congestion_check import COLUMNS, contradictions
from longlook.analysis.measure_cache import MeasureCache
from longlook.analysis.parameter_check import COLUMNS as PARAMETER_COLUMNS
from longlook.analysis.parameter_check import parameter_contradictions, sets_parameters
from longlook.core.model import Outcome, Run, Study, Trial
from longlook.core.run_folder import EVENTS, TIMELINE, RunFolder
from longlook.metrics import Metric, find_metric
from longlook.network.further import SECOND
from longlook.timeline.competition import Competition
from longlook.timeline.cpu_profile import work_columns
from longlook.timeline.envelope import points_of
from longlook.timeline.events import Events
from longlook.timeline.flow_tables import flow_columns, rate_columns
from longlook.timeline.loss_epochs import epochs_by_size
from longlook.timeline.normalise import normalise_trial
from longlook.timeline.over_links import link_columns
from longlook.timeline.payload import goodput_timeline
from longlook.timeline.state_times import EVENT_COLUMNS, times_in_states
from longlook.timeline.timeline import Timeline
from longlook.timeline.trial_events import needs_events, write_events

GOODPUT_BINS_S = (0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0)
"""The widths of a bin of goodput over time; the first that needs no more than GOODPUT_MOST_BINS is used."""
GOODPUT_MOST_BINS = 60

EPOCH_METRICS = frozenset({"single_loss_epochs", "recoverable_losses"})
"""The metrics that read loss epochs; a study with one of them also gets the table of the epochs."""

STATE_COLUMNS = ("vantage", "flow", "state", "source", "time_s", "share", "visits")


_IDENTIFYING = {
    name: attrgetter(field)
    for name, field in (("trial_id", "id"), ("arm", "arm"), ("cell_id", "cell_id"), ("round", "round"))
}
_TABLES = ("goodput", "links", "flows", "rates", "points", "states", "epochs", "cpu_work")

Columns = Mapping[str, list[Any]]
"""Rows of one attempt, column by column: what identifies the trial is added where they become a table (`rows_of`)."""


@dataclass(frozen=True)
class Measured:
    """An attempt with its metrics by name. `values` is empty unless it went well; a value is None if it cannot be
    measured.
    """

    trial: Trial
    run: Run
    values: dict[str, float | None]
    goodput: Columns | None = None  # time_s, mbps
    links: Columns | None = None  # the columns of over_links.LINK_COLUMNS, where there are two
    flows: Columns | None = None  # the columns of flowtables.FLOW_COLUMNS
    rates: Columns | None = None  # the columns of flowtables.RATE_COLUMNS
    points: Columns | None = None  # mbps, delay_ms: of the subject's envelope
    states: Columns | None = None  # the columns of STATE_COLUMNS
    epochs: Columns | None = None  # lost, epochs: how many lost so many packets
    cpu_work: Columns | None = None  # those of cpu_profile.COLUMNS: where the ends spent CPU time


def rows_of(measured: Sequence[Measured], name: str) -> pd.DataFrame | None:
    """Return the rows of all attempts that have any in the table `name`, a field of `Measured`, in their order.

    The columns are those of that field, then trial_id, arm, cell_id and round. None where no attempt has rows.
    """
    filled = [(entry.trial, columns) for entry in measured if (columns := getattr(entry, name)) and _count(columns)]
    if not filled:
        return None
    counted = [(trial, _count(columns)) for trial, columns in filled]
    rows: dict[str, list[Any]] = {
        column: list(chain.from_iterable(columns[column] for _, columns in filled)) for column in filled[0][1]
    }
    for column, of in _IDENTIFYING.items():
        rows[column] = list(chain.from_iterable(repeat(of(trial), count) for trial, count in counted))
    return pd.DataFrame(rows)


def _count(columns: Columns) -> int:
    return len(next(iter(columns.values()), ()))


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
        (entry.trial.cell_id, entry.trial.round): _pairs(entry.points)
        for entry in measured
        if entry.trial.arm == study.analysis.reference and entry.points is not None
    }
    last: dict[str, int] = {}  # cells may have had different numbers of rounds
    for entry in measured:
        last[entry.trial.cell_id] = max(entry.trial.round, last.get(entry.trial.cell_id, 0))
    found = []
    for entry in measured:
        own, count = entry.trial.arm == study.analysis.reference, last[entry.trial.cell_id] + 1
        number = (entry.trial.round + 1) % count if own else entry.trial.round
        other = points.get((entry.trial.cell_id, number))
        if entry.points is not None and other is not None and not (own and count == 1):
            mine = _pairs(entry.points)
            values = {name: compare(mine, other) for name, compare in metrics}
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
    if len(work) < 20:  # starting processes would take longer
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
    competition = Competition.of(timeline)
    data: dict[str, Any] = {
        "values": {name: metric.measure(timeline) for name, metric in _metrics(work.metrics)},
        "goodput": _goodput(timeline),
        "links": link_columns(timeline) if SECOND in work.trial.further else None,
        "flows": None if competition is None else flow_columns(competition),
        "rates": None if competition is None else rate_columns(competition),
        "points": None if competition is None else _points(competition),
        "states": _states(timeline, work.path / EVENTS) if traced else None,
        "epochs": epochs_by_size(timeline) if EPOCH_METRICS.intersection(work.metrics) else None,
        "cpu_work": work_columns(work.path, work.run.cpu_s),
    }
    if traced and (wrong := _contradicted(work, timeline)):
        data = {**dict.fromkeys(data), "values": {}, "contradicted": "; ".join(wrong)}
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
    tables = {name: data[name] for name in _TABLES}
    run = work.run
    if (wrong := data.get("contradicted")) is not None:
        hint = "the program ignored its configuration: see its knob, and longlook stacks check"
        run = replace(run, outcome=Outcome.INVALID, reason=wrong, hint=hint)
    return Measured(work.trial, run, data["values"], **tables)


def _states(timeline: Timeline, events: Path) -> dict[str, list[Any]]:
    """Return times in states within the load, as columns."""
    found = times_in_states(Events.read(events, EVENT_COLUMNS), timeline.load_window_ns())
    rows = [{**asdict(each), "time_s": each.time_ns / 1e9} for each in found]
    return {name: [row[name] for row in rows] for name in STATE_COLUMNS}


def _points(competition: Competition) -> dict[str, list[float]]:
    points = points_of(competition)
    return {"mbps": points[:, 0].tolist(), "delay_ms": points[:, 1].tolist()}


def _goodput(timeline: Timeline) -> dict[str, list[float]] | None:
    window = timeline.load_window_ns()
    if window is None:
        return None
    load_s = (window[1] - window[0]) / 1e9
    fitting = (width for width in GOODPUT_BINS_S if load_s / width <= GOODPUT_MOST_BINS)
    table = goodput_timeline(timeline, next(fitting, load_s / GOODPUT_MOST_BINS))
    return {"time_s": table["t_s"].to_pylist(), "mbps": table["goodput_mbps"].to_pylist()}


def _pairs(points: Columns) -> np.ndarray[Any, np.dtype[np.float64]]:
    return np.column_stack([np.asarray(points[name], np.float64) for name in ("mbps", "delay_ms")])


def _metrics(names: Iterable[str]) -> Iterator[tuple[str, Metric]]:
    for name in names:
        yield name, find_metric(name)
