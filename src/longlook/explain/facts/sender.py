"""A sender's own log in one trial, as arrays. Pure.

A figure is None if the sender's log never has it; missing is never zero.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pyarrow as pa

from longlook.core import Json, Vantage
from longlook.explain.facts.columns import Booleans, Integers, Steps, are, codes, integers
from longlook.timeline import LIMIT_ENDED, QUEUE_FULL, Doubt, DoubtfulValue, EventKind, Timeline, doubts_of

UNNUMBERED = -1
"""The packet number in rows of logs that only count."""


@dataclass(frozen=True)
class LoggedMoments:
    """Moments of one kind in order of time, arrays of shape (N,); names are codes into `names`, -1 for none."""

    time_ns: Integers
    name: Integers
    names: tuple[str, ...]
    packet_number: Integers  # UNNUMBERED where there is none
    size_bytes: Integers  # 0 where there is none
    value: "np.ndarray[tuple[int], np.dtype[np.float64]]"  # NaN where there is none
    detail: Integers  # codes into `details`, -1 for none
    details: tuple[str, ...]

    def named(self, *names: str) -> Booleans:
        """Return which moments have one of some names."""
        chosen = np.array([name in names for name in self.names] + [False], np.bool_)
        return chosen[self.name]


@dataclass(frozen=True)
class SenderFacts:
    """One end's log of one connection. Sizes are bytes, times ns since the trial's start."""

    vantage: Vantage
    flow: str
    source: str  # qlog, tcp or netlog
    window: Steps | None  # congestion window
    threshold: Steps | None  # of slow start
    in_flight: Steps | None
    smoothed_rtt: Steps | None  # ns, as are the next two
    latest_rtt: Steps | None
    min_rtt: Steps | None
    pacing: Steps | None  # bit/s
    timeouts_in_a_row: Steps | None
    state: Steps | None  # codes into `states`: what docs/reference/timeline.md#states calls states
    states: tuple[str, ...]
    state_logged: Steps | None  # 1 where the stack or the kernel logged the state, 0 where a rule found it
    app_limited: Steps | None  # 1 or 0; not of the kernel, whose flag is about its last sample
    parameters: Mapping[str, Mapping[str, Json]]  # by name (local, remote, recovery): the last of each
    sent: LoggedMoments
    received: LoggedMoments
    discarded: LoggedMoments  # arrived, and thrown away unread, because there was no room
    acked: LoggedMoments
    lost: LoggedMoments  # declared; value = how many, where the log only counts
    spurious: LoggedMoments  # declared lost, but received
    refused: LoggedMoments  # declared lost, but delivered, and the receiver gave no sign of it
    timers: LoggedMoments  # loss timers: set, expired, cancelled
    timeouts: LoggedMoments  # probe and retransmission timeouts that fired
    blocked: LoggedMoments  # by a limit; value = the limit
    unblocked: LoggedMoments  # no longer, of the kernel's limits
    doubts: Mapping[str, str] = field(default_factory=dict)  # of the above, what is not counted, and why

    @classmethod
    def all_of(cls, timeline: Timeline, vantage: Vantage) -> "tuple[SenderFacts, ...]":
        """Return the facts of every measured connection that an end traced, computed once per timeline."""
        key = f"sender facts {vantage}"
        if key not in timeline.derived:
            timeline.derived[key] = _all(timeline, vantage)
        known: tuple[SenderFacts, ...] = timeline.derived[key]
        return known

    def asked(self) -> "SenderFacts":
        """Return the same for readers that conclude from it: reading a value that is in doubt raises DoubtError."""
        return AskedFacts(**vars(self)) if self.doubts else self


class DoubtError(Exception):
    """A conclusion would rest on what a trace contradicts itself about; the text is a reason in words."""


class AskedFacts(SenderFacts):
    """Facts of which some are in doubt: missing is not zero, and a detector that reads them must not go on."""

    def __getattribute__(self, name: str) -> Any:
        """Return a fact, or raise DoubtError."""
        if (why := object.__getattribute__(self, "doubts").get(name)) is not None:
            raise DoubtError(f"it rests on what is not counted: {why}")
        return object.__getattribute__(self, name)


_IN_DOUBT: Mapping[DoubtfulValue, tuple[str, ...]] = {
    DoubtfulValue.ROUND_TRIPS: ("smoothed_rtt", "latest_rtt", "min_rtt"),
    DoubtfulValue.ACKNOWLEDGEMENTS: ("acked", "spurious", "refused"),
    DoubtfulValue.LOSSES: ("lost", "spurious", "refused"),
    DoubtfulValue.NUMBERS: ("sent",),
}
"""The facts that a value is in, or that follow from it."""

_METRICS = {
    "window": "cwnd_bytes",
    "threshold": "ssthresh_bytes",
    "in_flight": "in_flight_bytes",
    "smoothed_rtt": "srtt_ns",
    "latest_rtt": "latest_rtt_ns",
    "min_rtt": "min_rtt_ns",
    "pacing": "pacing_bps",
    "timeouts_in_a_row": "pto_count",
}


def _all(timeline: Timeline, vantage: Vantage) -> tuple[SenderFacts, ...]:
    events = timeline.events
    if events is None:
        return ()
    measured = events.table.filter(
        pa.array(~events.table["priming"].to_numpy() & are(events.table["vantage"], vantage))
    )
    flow, flows = codes(measured["flow"])
    doubts = doubts_of(events.metadata)
    found = []
    for code in dict.fromkeys(flow[flow >= 0].tolist()):
        own = measured.filter(pa.array(flow == code))
        if not (are(own["source"], "derived", "link")).all():
            in_doubt = _in_doubt([each for each in doubts if (each.vantage, each.flow) == (vantage, flows[code])])
            found.append(_one(own.unify_dictionaries(), vantage, flows[code], in_doubt))
    return tuple(found)


def _in_doubt(doubts: list[Doubt]) -> dict[str, str]:
    return {name: each.sentence for each in doubts for value in sorted(each.about) for name in _IN_DOUBT[value]}


def _one(rows: pa.Table, vantage: Vantage, flow: str, doubts: Mapping[str, str]) -> SenderFacts:
    kind, kinds = codes(rows["kind"])
    of_kind = {name: np.flatnonzero(kind == code) for code, name in enumerate(kinds)}

    def chosen(wanted: EventKind) -> pa.Table:
        return rows.take(pa.array(of_kind.get(str(wanted), np.zeros(0, np.int64))))

    metrics = chosen(EventKind.METRICS)
    figures = {name: _steps(metrics, column) for name, column in _METRICS.items()}
    states = chosen(EventKind.STATE)
    state, names = codes(states["name"])
    source, sources = codes(rows["source"])
    limited = chosen(EventKind.APP_LIMITED)
    limited = limited.filter(pa.array(~are(limited["source"], "tcp")))
    blocked = chosen(EventKind.BLOCKED)
    ended = are(blocked["detail"], LIMIT_ENDED)
    written = [text for code, text in enumerate(sources) if text not in ("derived", "link") and (source == code).any()]
    return SenderFacts(
        vantage=vantage,
        flow=flow,
        source=written[0],
        **figures,
        state=Steps(integers(states["time_ns"]), state) if states.num_rows else None,
        states=names,
        state_logged=Steps(integers(states["time_ns"]), (~are(states["source"], "derived")).astype(np.int64)),
        app_limited=_limited(limited),
        parameters=_parameters(chosen(EventKind.PARAMETERS)),
        sent=_marks(chosen(EventKind.PACKET_SENT)),
        received=_marks(chosen(EventKind.PACKET_RECEIVED)),
        discarded=_marks(_without_room(chosen(EventKind.PACKET_DISCARDED))),
        acked=_marks(chosen(EventKind.PACKET_ACKED)),
        lost=_marks(chosen(EventKind.PACKET_LOST)),
        spurious=_marks(chosen(EventKind.PACKET_SPURIOUS)),
        refused=_marks(chosen(EventKind.PACKET_REFUSED)),
        timers=_marks(chosen(EventKind.LOSS_TIMER)),
        timeouts=_marks(chosen(EventKind.PTO)),
        blocked=_marks(blocked.filter(pa.array(~ended))),
        unblocked=_marks(blocked.filter(pa.array(ended))),
        doubts=doubts,
    )


def _without_room(rows: pa.Table) -> pa.Table:
    """Return the rows of packets that were thrown away because a queue was full; these were not looked at."""
    return rows.filter(pa.array(are(rows["name"], *QUEUE_FULL) & ~rows["space"].is_valid().to_numpy()))


def _steps(metrics: pa.Table, column: str) -> Steps | None:
    known = metrics[column].is_valid().to_numpy()
    if not known.any():
        return None
    return Steps(integers(metrics["time_ns"])[known], integers(metrics[column])[known])


def _limited(rows: pa.Table) -> Steps | None:
    if rows.num_rows == 0:
        return None
    on = rows["value"].combine_chunks().fill_null(0.0).to_numpy(zero_copy_only=False) == 1
    return Steps(integers(rows["time_ns"]), on.astype(np.int64))


def _parameters(rows: pa.Table) -> dict[str, dict[str, Json]]:
    texts = zip(rows["name"].cast(pa.string()).to_pylist(), rows["detail"].cast(pa.string()).to_pylist(), strict=True)
    read = {name: _read(detail) for name, detail in texts if name is not None}
    return {name: found for name, found in read.items() if isinstance(found, dict)}


def _read(text: str | None) -> Json:
    try:
        return json.loads(text or "")
    except ValueError:
        return {}


def _marks(rows: pa.Table) -> LoggedMoments:
    name, names = codes(rows["name"])
    detail, details = codes(rows["detail"])
    return LoggedMoments(
        integers(rows["time_ns"]),
        name,
        names,
        integers(rows["packet_number"], UNNUMBERED),
        integers(rows["size_bytes"]),
        rows["value"].combine_chunks().fill_null(np.nan).to_numpy(zero_copy_only=False),
        detail,
        details,
    )
