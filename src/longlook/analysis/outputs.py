"""The tables that an analysis makes of the trials of a run: the one list that measuring, writing and drawing read.

One more table is one more entry of OUTPUTS: its rows are measured with the metrics, kept in the cache with these,
written to the run folder, sealed, and given to the report as `content.table(name)`.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import cached_property
from itertools import chain, repeat
from operator import attrgetter
from pathlib import Path
from typing import Any

import pandas as pd

from longlook.core import FLOWS, POINTS, RATES, STATES, Run, Trial
from longlook.timeline import (
    EVENT_COLUMNS,
    FLOW_COLUMNS,
    LINK_COLUMNS,
    RATE_COLUMNS,
    ROLES,
    WORK_COLUMNS,
    Competition,
    Events,
    Timeline,
    epochs_by_size,
    flow_columns,
    goodput_timeline,
    link_columns,
    points_of,
    pooled_stacks,
    rate_columns,
    times_in_states,
    work_columns,
)

Columns = Mapping[str, list[Any]]
"""Rows of one attempt, column by column: the trial's identity is added when they become a table (`rows_of`)."""

GOODPUT_BINS_S = (0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0)
"""The widths of a bin of goodput over time; the first that needs no more than GOODPUT_MOST_BINS is used."""
GOODPUT_MOST_BINS = 60

EPOCH_METRICS = frozenset({"single_loss_epochs", "recoverable_losses"})
"""The metrics that read loss epochs; a study with one of them also gets the table of the epochs."""

_IDENTIFYING = {
    name: attrgetter(field)
    for name, field in (("trial_id", "id"), ("arm", "arm"), ("cell_id", "cell_id"), ("round", "round"))
}


@dataclass(frozen=True)
class Attempt:
    """An attempt that went well, as tables read it. `events` is its table of events, None if it has no traces."""

    path: Path
    trial: Trial
    run: Run
    metrics: tuple[str, ...]
    timeline: Timeline
    events: Path | None

    @cached_property
    def competition(self) -> Competition | None:
        """Its flows on the link; None if none competed."""
        return Competition.of(self.timeline)


@dataclass(frozen=True)
class Pooled:
    """A table that is made of all rows of an output, None if these give it no row.

    `of` gets the folder of the trials beside the rows, and returns a table with `columns`.
    """

    name: str
    columns: tuple[str, ...]
    of: Callable[[Path, pd.DataFrame], pd.DataFrame | None]
    file: str
    summary: str


@dataclass(frozen=True)
class Output:
    """A table of all trials. `of` returns an attempt's rows in `columns`, or None if it has none.

    `file` is the name of the table in the run folder, None for a table that is drawn and not written. `pooled` is a
    table that is made of this one.
    """

    name: str
    columns: tuple[str, ...]
    of: Callable[[Attempt], Columns | None]
    file: str | None
    summary: str
    pooled: Pooled | None = None

    @property
    def tables(self) -> tuple["Output | Pooled", ...]:
        """The table itself, and the table that is made of it if there is one."""
        return (self,) if self.pooled is None else (self, self.pooled)


@dataclass(frozen=True)
class FilledTable:
    """A table of a run by its name, and its file in the run folder. `rows` is None if no attempt has any."""

    name: str
    file: str | None
    rows: pd.DataFrame | None


def filled_tables(
    trials: Path, attempts: Sequence[tuple[Trial, Mapping[str, Columns | None]]]
) -> Iterator[FilledTable]:
    """Return all tables of a run in the order of OUTPUTS.

    `trials` is the folder of the trials; `attempts` has every trial with the rows of its attempt by the name of the
    output.
    """
    for output in OUTPUTS:
        rows = rows_of(attempts, output.name)
        yield FilledTable(output.name, output.file, rows)
        if (pooled := output.pooled) is not None:
            yield FilledTable(pooled.name, pooled.file, None if rows is None else pooled.of(trials, rows))


def rows_of(attempts: Iterable[tuple[Trial, Mapping[str, Columns | None]]], name: str) -> pd.DataFrame | None:
    """Return the rows of all attempts that have any in the table `name`, in their order.

    The columns are the table's own, then trial_id, arm, cell_id and round. None if no attempt has rows.
    """
    filled = [(trial, columns) for trial, tables in attempts if (columns := tables.get(name)) and _count(columns)]
    if not filled:
        return None
    rows: dict[str, list[Any]] = {
        column: list(chain.from_iterable(columns[column] for _, columns in filled)) for column in filled[0][1]
    }
    for column, of in _IDENTIFYING.items():
        rows[column] = list(chain.from_iterable(repeat(of(trial), _count(columns)) for trial, columns in filled))
    return pd.DataFrame(rows)


def sampled_stacks(trials: Path, work: pd.DataFrame) -> pd.DataFrame:
    """Return the call stacks of every cell, arm and end, pooled over the trials that have CPU work.

    The folders of the trials are below `trials`. The columns are cell_id, arm, role, stack and cpu_s: the CPU seconds
    of a trial that were spent there, on average.
    """
    rows = []
    for (cell_id, arm), own in work.groupby(["cell_id", "arm"], sort=True):
        folders = [trials / name for name in sorted(set(own["trial_id"]))]
        for role in ROLES:
            stacks, seconds = pooled_stacks(folders, role)
            rows += [
                (cell_id, arm, role, stack, count * seconds / len(folders)) for stack, count in sorted(stacks.items())
            ]
    return pd.DataFrame(rows, columns=list(_STACK_COLUMNS))


def mean_work(work: pd.DataFrame) -> pd.DataFrame:
    """Return cell_id, arm, role, work, trials, and the mean, least and most CPU seconds of these trials.

    `counted_cpu_s` is the mean of all that the kernel counted for that end, whatever it was doing.
    """
    table = (
        work.groupby(["cell_id", "arm", "role", "work"], sort=True)
        .agg(
            trials=("cpu_s", "count"),
            mean_cpu_s=("cpu_s", "mean"),
            least_cpu_s=("cpu_s", "min"),
            most_cpu_s=("cpu_s", "max"),
            counted_cpu_s=("counted_s", "mean"),
        )
        .reset_index()
    )
    return table.sort_values(["cell_id", "arm", "role", "work"], ignore_index=True)


def share_of_epochs(epochs: pd.DataFrame, most_lost: int) -> list[tuple[int, float]]:
    """Return the cumulative distribution of rows with `lost` and `epochs`: (packets, % of epochs with at most these).

    It has a point for 1, for `most_lost`, and for every number between them that an epoch lost.
    """
    sizes = epochs.groupby("lost")["epochs"].sum()
    total = sizes.sum()
    steps = sorted({1, most_lost, *(int(lost) for lost in sizes.index if lost < most_lost)})
    return [(lost, float(100 * sizes[sizes.index <= lost].sum() / total)) for lost in steps]


def _count(columns: Columns) -> int:
    return len(next(iter(columns.values()), ()))


def _goodput(attempt: Attempt) -> Columns | None:
    window = attempt.timeline.load_window_ns()
    if window is None:
        return None
    load_s = (window[1] - window[0]) / 1e9
    fitting = (width for width in GOODPUT_BINS_S if load_s / width <= GOODPUT_MOST_BINS)
    table = goodput_timeline(attempt.timeline, next(fitting, load_s / GOODPUT_MOST_BINS))
    return {"time_s": table["t_s"].to_pylist(), "mbps": table["goodput_mbps"].to_pylist()}


def _links(attempt: Attempt) -> Columns | None:
    return link_columns(attempt.timeline) if attempt.trial.has_second_path else None


def _of_flows(of: Callable[[Competition], Columns]) -> Callable[[Attempt], Columns | None]:
    return lambda attempt: None if attempt.competition is None else of(attempt.competition)


def _points(competition: Competition) -> Columns:
    points = points_of(competition)
    return {"mbps": points[:, 0].tolist(), "delay_ms": points[:, 1].tolist()}


def _states(attempt: Attempt) -> Columns | None:
    if attempt.events is None:
        return None
    found = times_in_states(Events.read(attempt.events, EVENT_COLUMNS), attempt.timeline.load_window_ns())
    rows = [{**asdict(each), "time_s": each.time_ns / 1e9} for each in found]
    return {name: [row[name] for row in rows] for name in _STATE_COLUMNS}


def _epochs(attempt: Attempt) -> Columns | None:
    return epochs_by_size(attempt.timeline) if EPOCH_METRICS.intersection(attempt.metrics) else None


def _cpu_work(attempt: Attempt) -> Columns | None:
    return work_columns(attempt.path, attempt.run.cpu_s)


_STACK_COLUMNS = ("cell_id", "arm", "role", "stack", "cpu_s")
_STATE_COLUMNS = ("vantage", "flow", "state", "source", "time_s", "share", "visits")

OUTPUTS: Sequence[Output] = (
    Output("goodput", ("time_s", "mbps"), _goodput, None, "Goodput over a load."),
    Output("links", LINK_COLUMNS, _links, None, "The rate over each link, if the path has two."),
    Output("flows", FLOW_COLUMNS, _of_flows(flow_columns), FLOWS, "Each flow of a trial in which flows compete."),
    Output("rates", RATE_COLUMNS, _of_flows(rate_columns), RATES, "The rate of each such flow over time."),
    Output(
        "points", ("mbps", "delay_ms"), _of_flows(_points), POINTS, "The points of the first group's envelope."
    ),
    Output("states", _STATE_COLUMNS, _states, STATES, "How long each sender was in each state, if traces were kept."),
    Output(
        "epochs", ("lost", "epochs"), _epochs, "loss_epochs.parquet",
        "The number of loss epochs of a load by the packets that they lost, if a metric reads loss epochs.",
    ),
    Output(
        "cpu_work", WORK_COLUMNS, _cpu_work, "cpu_work.parquet",
        "On what each end spent CPU time, if CPU time was sampled.",
        Pooled(
            "cpu_stacks", _STACK_COLUMNS, sampled_stacks, "cpu_stacks.parquet",
            "A call stack in a cell, arm and end, with its CPU seconds in a trial on average.",
        ),
    ),
)  # fmt: skip

TABLES = tuple(table for output in OUTPUTS for table in output.tables)
"""Every table that an analysis makes of the trials, in order."""
