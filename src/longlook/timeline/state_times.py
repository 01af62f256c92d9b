"""The time that each sender spent in each state, and the number of its visits. Pure."""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow.compute as pc

from longlook.timeline.events import EventKind, Events
from longlook.timeline.states import State
from longlook.timeline.timeline import Timeline

EVENT_COLUMNS = ("time_ns", "vantage", "source", "kind", "priming", "flow", "name")
"""The columns of a file of events that `times_in_states` reads."""

_BEGUN_BY_LOSSES = (State.RECOVERY, State.LOSS_PROBE, State.TIMEOUT)


@dataclass(frozen=True)
class SenderStateTime:
    """One state of one sender. `share` is of the time in which the sender was observed; shares add up to 1."""

    vantage: str
    flow: str
    state: str
    source: str  # qlog, tcp or derived
    time_ns: int
    share: float
    visits: int


def times_in_states(events: Events, window_ns: tuple[int, int] | None = None) -> list[SenderStateTime]:
    """Return the time in each state of each sender of the measured connections, within a window.

    Without a window it is from the first to the last event. A state is held until the next one of the same flow and
    vantage, the last one until the connection's last event. A visit is an entry within the window, or the state in
    which the window begins. States are in the order in which they were first met.
    """
    found: list[SenderStateTime] = []
    last_ns = _last_events(events)
    states = events.select(EventKind.STATE)
    columns = {name: states[name].to_pylist() for name in ("time_ns", "vantage", "flow", "name", "source")}
    senders: dict[tuple[str, str], list[tuple[int, str, str]]] = defaultdict(list)
    for time_ns, vantage, flow, name, source in zip(*columns.values(), strict=True):
        if flow is not None:
            senders[vantage, flow].append((time_ns, name, source))
    for (vantage, flow), rows in senders.items():
        found += _of_sender(vantage, flow, rows, last_ns[vantage, flow], window_ns)
    return found


def _last_events(events: Events) -> dict[tuple[str, str], int]:
    measured = events.table.filter(pc.invert(events.table["priming"]))
    table = measured.select(["vantage", "flow", "time_ns"]).unify_dictionaries()
    grouped = table.group_by(["vantage", "flow"]).aggregate([("time_ns", "max")])
    return {(row["vantage"], row["flow"]): row["time_ns_max"] for row in grouped.to_pylist()}


def _of_sender(
    vantage: str, flow: str, rows: Sequence[tuple[int, str, str]], last_ns: int, window_ns: tuple[int, int] | None
) -> list[SenderStateTime]:
    begins = np.array([row[0] for row in rows], np.int64)
    ends = np.append(begins[1:], max(last_ns, int(begins[-1])))
    if window_ns is not None:
        begins, ends = np.clip(begins, *window_ns), np.clip(ends, *window_ns)
    lasted = ends - begins
    total = int(lasted.sum())
    times: dict[tuple[str, str], list[int]] = defaultdict(lambda: [0, 0])
    for (_, name, source), time_ns in zip(rows, lasted.tolist(), strict=True):
        if time_ns > 0:
            times[name, source][0] += time_ns
            times[name, source][1] += 1
    return [
        SenderStateTime(vantage, flow, name, source, time_ns, time_ns / total, visits)
        for (name, source), (time_ns, visits) in times.items()
    ]


def state_share_pct(timeline: Timeline, state: str, vantage: str) -> float | None:
    """Return the share in % of the load that an end's senders spent in a state, together; None without a trace of it.

    It is also None if a sender's state is unknown for a while, as it could be any state then; states that only losses
    begin are excepted.
    """
    window = timeline.load_window_ns()
    if timeline.events is None or window is None:
        return None
    times = [each for each in times_in_states(timeline.events, window) if each.vantage == vantage]
    if state not in _BEGUN_BY_LOSSES and any(each.state == State.UNKNOWN for each in times):
        return None
    total = sum(each.time_ns for each in times)
    return 100.0 * sum(each.time_ns for each in times if each.state == state) / total if total else None
