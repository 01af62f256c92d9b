"""Time in each state over the rounds of a cell, by arm, and the difference of two arms. Pure."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc

from longlook.analysis import adjust, paired
from longlook.core import Contrast
from longlook.timeline import EventKind, Events, State

STATE_COLUMNS = ("trial_id", "cell_id", "arm", "round", "vantage", "state", "source", "time_s", "visits")
"""The columns of `states.parquet` that are read here."""


@dataclass(frozen=True)
class StateTime:
    """The time of one arm in one state: means over `n` rounds. The interval is Student's, None with a single round."""

    arm: str
    state: str
    sources: tuple[str, ...]
    n: int
    share_pct: float
    low_pct: float | None
    high_pct: float | None
    time_s: float
    visits: float


@dataclass(frozen=True)
class StateDifference:
    """Contender minus baseline, in percentage points of the connection's time, over `n` rounds with both.

    `p` is from the paired t-test; `p_adjusted` is corrected for all states of the cell.
    """

    state: str
    n: int
    points: float
    low: float | None
    high: float | None
    p: float | None
    p_adjusted: float | None


@dataclass(frozen=True)
class StateTimes:
    """The times of one cell, in the order of the vocabulary and of the study's arms."""

    times: tuple[StateTime, ...]
    differences: tuple[StateDifference, ...]
    contrast: Contrast | None


def time_in_states(
    table: pd.DataFrame,
    cell_id: str,
    arms: Sequence[str],
    contrast: Contrast | None,
    *,
    vantage: str,
    confidence: float,
    correction: str,
) -> StateTimes:
    """Return the shares of time of each arm's senders at `vantage`; all connections of a trial count together.

    A state that a round did not enter has a share of 0 in it. Rounds whose trial has no states do not count.
    """
    own = table[(table["cell_id"] == cell_id) & (table["vantage"].astype(str) == vantage)]
    entered = [str(state) for state in State if (own["state"].astype(str) == state).any()]
    shares = {arm: _shares(own[own["arm"].astype(str) == arm], entered) for arm in arms}
    times = [
        _time(own, arm, state, shares[arm], confidence) for state in entered for arm in arms if len(shares[arm]) > 0
    ]
    return StateTimes(tuple(times), tuple(_differences(shares, entered, contrast, confidence, correction)), contrast)


def _shares(rows: pd.DataFrame, states: Sequence[str]) -> pd.DataFrame:
    """Return the percentage of time by round (rows) and state (columns)."""
    spent = rows.assign(state=rows["state"].astype(str)).pivot_table(
        index="round", columns="state", values="time_s", aggfunc="sum", fill_value=0.0
    )
    whole = spent.sum(axis=1)
    return spent.reindex(columns=list(states), fill_value=0.0).div(whole.where(whole > 0), axis=0).mul(100).dropna()


def _time(own: pd.DataFrame, arm: str, state: str, shares: pd.DataFrame, confidence: float) -> StateTime:
    rows = own[(own["arm"].astype(str) == arm) & (own["state"].astype(str) == state)]
    found = paired(shares[state].to_numpy(np.float64), 0.0, confidence)
    rounds = len(shares)
    return StateTime(
        arm=arm,
        state=state,
        sources=tuple(sorted(rows["source"].astype(str).unique())),
        n=rounds,
        share_pct=found.mean,
        low_pct=found.low,
        high_pct=found.high,
        time_s=float(rows["time_s"].sum()) / rounds,
        visits=float(rows["visits"].sum()) / rounds,
    )


def _differences(
    shares: dict[str, pd.DataFrame],
    states: Sequence[str],
    contrast: Contrast | None,
    confidence: float,
    correction: str,
) -> list[StateDifference]:
    if contrast is None or not {contrast.baseline, contrast.contender} <= shares.keys():
        return []
    baseline, contender = shares[contrast.baseline], shares[contrast.contender]
    rounds = baseline.index.intersection(contender.index)
    if rounds.empty:
        return []
    found = [
        paired((contender.loc[rounds, state] - baseline.loc[rounds, state]).to_numpy(np.float64), 0.0, confidence)
        for state in states
    ]
    tested = [item.p for item in found if item.p is not None]
    adjusted = iter(adjust(tested, correction))
    return [
        StateDifference(
            state, len(rounds), item.mean, item.low, item.high, item.p, None if item.p is None else next(adjusted)
        )
        for state, item in zip(states, found, strict=True)
    ]


COLUMNS = ("time_ns", "vantage", "kind", "priming", "flow", "name")
"""The columns of events that are read here."""


def state_traces(trials: Iterable[tuple[str, Events]], vantage: str) -> dict[str, list[tuple[str | None, int]]]:
    """Return one trace for each connection of each trial, by the trial's id and flow, up to its connection's last
    row.
    """
    traces: dict[str, list[tuple[str | None, int]]] = {}
    for trial_id, events in trials:
        rows = events.select(EventKind.STATE, vantage)
        for flow in sorted(filter(None, pc.unique(rows["flow"].cast(pa.string())).to_pylist())):
            own = rows.filter(pc.equal(rows["flow"].cast(pa.string()), flow))
            every = events.select([str(kind) for kind in EventKind], vantage, flow)
            steps = zip(own["name"].cast(pa.string()).to_pylist(), own["time_ns"].to_pylist(), strict=True)
            traces[f"{trial_id} {flow}"] = [*steps, (None, pc.max(every["time_ns"]).as_py())]
    return traces
