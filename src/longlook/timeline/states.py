"""The states of a sender, one vocabulary for QUIC and TCP, and the time that each sender spends in each. Pure.

docs/reference/timeline.md#states defines how each state is found.
"""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum

import numpy as np
import pyarrow.compute as pc

from longlook.timeline.events import EventKind, Events
from longlook.timeline.timeline import Timeline


class State(StrEnum):
    """The state of a connection's sender; `STATES` explains each."""

    INIT = "init"
    SLOW_START = "slow_start"
    CONGESTION_AVOIDANCE = "congestion_avoidance"
    CONGESTION_AVOIDANCE_MAXED = "congestion_avoidance_maxed"
    APPLICATION_LIMITED = "application_limited"
    RECOVERY = "recovery"
    LOSS_PROBE = "loss_probe"
    TIMEOUT = "timeout"
    BBR_STARTUP = "bbr_startup"
    BBR_DRAIN = "bbr_drain"
    BBR_PROBE_BANDWIDTH = "bbr_probe_bandwidth"
    BBR_PROBE_RTT = "bbr_probe_rtt"
    UNKNOWN = "unknown"


STATES: Mapping[State, str] = {
    State.INIT: "the handshake: no congestion controller has spoken yet",
    State.SLOW_START: "the window grows with every acknowledgement, up to its threshold or the first loss",
    State.CONGESTION_AVOIDANCE: "the window is the limit and grows slowly",
    State.CONGESTION_AVOIDANCE_MAXED: "the window is the limit and in use, and stays at a cap although nothing is lost",
    State.APPLICATION_LIMITED: "less is in flight than the window allows: nothing to send, or a limit of the receiver",
    State.RECOVERY: "a loss was declared; no packet sent since then has been acknowledged yet",
    State.LOSS_PROBE: "a first probe timeout (QUIC) or tail loss probe (TCP) fired; no acknowledgement came since",
    State.TIMEOUT: "a second probe timeout in a row (QUIC) or a retransmission timeout (TCP) fired",
    State.BBR_STARTUP: "BBR doubles its rate until the bandwidth stops growing",
    State.BBR_DRAIN: "BBR empties the queue that its start-up filled",
    State.BBR_PROBE_BANDWIDTH: "BBR sends at the bandwidth that it found, now and then a little more or less",
    State.BBR_PROBE_RTT: "BBR keeps little in flight to see the path's round trip time without a queue",
    State.UNKNOWN: "its log names no state, and no rule fits its congestion controller (BBR without a log of states)",
}

BBR_STATES = frozenset(
    {State.BBR_STARTUP, State.BBR_DRAIN, State.BBR_PROBE_BANDWIDTH, State.BBR_PROBE_RTT},
)


EVENT_COLUMNS = ("time_ns", "vantage", "source", "kind", "priming", "flow", "name")
"""The columns of a file of events that `times_in_states` reads."""

BEGUN_BY_LOSSES = frozenset({State.RECOVERY, State.LOSS_PROBE, State.TIMEOUT})
"""States that only a loss begins; a state that is unknown is none of them."""


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
    if state not in BEGUN_BY_LOSSES and any(each.state == State.UNKNOWN for each in times):
        return None
    total = sum(each.time_ns for each in times)
    return 100.0 * sum(each.time_ns for each in times if each.state == state) / total if total else None
