"""Quantities of a trial over time, which expectations of a study may be about beside metrics. Pure.

Each is read from the rows of a timeline and its events. A trial that does not say what a quantity was raises
NotKnownError with the reason, and never gives a value for it.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from longlook.timeline.competition import server_of
from longlook.timeline.doubts import doubts_of, uncounted_kinds
from longlook.timeline.events import EventKind, Events, among
from longlook.timeline.states import State
from longlook.timeline.timeline import Kind, Timeline

_NS_PER_S = 1e9
_TRACE_LAG_NS = 10_000_000
"""A trace whose last row is older than the last packet on the link by more than this ended before its sender did.

A queueing discipline at the sender paces packets by less, and so much may the clock of a placed trace differ.
"""
_FEWEST_PACKET_BYTES = 1200
"""QUIC's least size of a full packet (RFC 9000, 14.1); a smaller packet does not tell the size of a full one."""
_CUT_WITHIN_ROUND_TRIPS = 1.5
"""A sender has reduced its window so long after the begin of a recovery (proportional rate reduction, RFC 6937)."""


class NotKnownError(Exception):
    """A trial does not say what a quantity was; the message is the reason, for people."""


class Dimension(StrEnum):
    """The kind of value that a quantity has; it decides the units of bounds."""

    TIME = "time"  # s
    RATE = "rate"  # bit/s
    SIZE = "size"  # bytes
    WINDOW = "size or packets"  # bytes, or full packets of the sender
    SHARE = "share"  # %
    COUNT = "count"
    STATE = "state of a sender"
    NUMBER = "number"  # of a metric with a unit of its own


class Form(StrEnum):
    """How a quantity goes with time."""

    LEVEL = "level"  # has a value at each moment, which holds until the next
    MOMENTS = "moments"  # has a value whenever something happens
    TOTAL = "total"  # has one value for each span of time
    WHOLE = "whole load"  # has one value for each load


@dataclass(frozen=True)
class Course:
    """The values of one sender or queue over time, in order; `known_until_ns` is the end of what the trial says of it.

    Values are floats in the unit of the quantity, or names of states. `flow` is empty for a queue.
    """

    flow: str
    times_ns: npt.NDArray[np.int64]
    values: npt.NDArray[Any]
    known_until_ns: int


@dataclass(frozen=True)
class View:
    """The part of a trial that an observable reads: one end, and perhaps one group of its flows."""

    timeline: Timeline
    end: str  # client | server
    group: str = ""

    @cached_property
    def load_ns(self) -> tuple[int, int]:
        """The begin and the end of the load on the timeline's clock; NotKnownError if it did not end.

        The load of flows that compete goes from the first one's start to the first one's end.
        """
        window, facts = self.timeline.load_window_ns(), self.timeline.metadata.get("competition")
        if window is None:
            raise NotKnownError("the load did not begin, or did not end" if facts is None else "no flows competed")
        if facts is None:
            return window
        return min(flow["began_ns"] for flow in facts["flows"] if _competes(flow)), window[1]

    @cached_property
    def addresses(self) -> frozenset[str] | None:
        """The addresses of the group's servers; None without a group. NotKnownError if no flow of the group began."""
        if not self.group:
            return None
        flows = (self.timeline.metadata.get("competition") or {}).get("flows", [])
        found = frozenset(flow["server_address"] for flow in flows if flow["group"] == self.group)
        if not found:
            raise NotKnownError(f"no flow of group {self.group} began")
        return found

    @cached_property
    def flows(self) -> Sequence[str]:
        """The flows that the end has a trace of, at least one; NotKnownError if there is none."""
        found = [] if self.timeline.events is None else self.timeline.events.senders()
        own = [flow for flow, end in found if end == self.end and self._is_own(flow)]
        if not own:
            raise NotKnownError(
                f"there is no trace of the {self.end}: the study captures none, or its stack writes none"
            )
        return own

    def _is_own(self, flow: str) -> bool:
        return self.addresses is None or server_of(flow) in self.addresses

    def events(self, *kinds: EventKind) -> pa.Table:
        """Return the rows of some kinds of the end's traces; NotKnownError if a trace contradicts itself about them."""
        flows, every = self.flows, self._traces
        doubts = [doubt for doubt in doubts_of(every.metadata) if doubt.flow in (None, *flows)]
        if {*kinds} & {*uncounted_kinds(doubts, self.end)}:
            raise NotKnownError(f"the trace of the {self.end} contradicts itself about it")
        rows = every.select([str(kind) for kind in kinds], self.end)
        return rows.filter(among(rows["flow"], flows))

    @property
    def _traces(self) -> Events:
        if self.timeline.events is None:
            raise NotKnownError(f"there is no trace of the {self.end}")
        return self.timeline.events

    def packets(self, *kinds: Kind) -> pa.Table:
        """Return the packets that the link saw on their way to the clients, of the group's flows."""
        return self._of_link(kinds, "down")

    def _of_link(self, kinds: Sequence[Kind], direction: str) -> pa.Table:
        rows = self.timeline.select(kinds, "link")
        rows = rows.filter(among(rows["direction"], [direction]))
        if self.addresses is None:
            return rows
        own = [flow for flow in pc.unique(rows["flow"].cast(pa.string())).to_pylist() if flow and self._is_own(flow)]
        return rows.filter(among(rows["flow"], own))

    def known_until_ns(self, flow: str) -> int:
        """Return the time until which a sender's trace tells what it did, on the timeline's clock.

        It is the end of the load, unless the link saw packets of the sender after the last row of its trace.
        """
        last_ns = self._last_row_ns[flow]
        return self.load_ns[1] if self._last_packet_ns.get(flow, 0) <= last_ns + _TRACE_LAG_NS else last_ns

    @cached_property
    def _last_row_ns(self) -> Mapping[str, int]:
        table = self._traces.table
        own = table.filter(among(table["vantage"], [self.end]))
        return _largest(own, "time_ns")

    @cached_property
    def _last_packet_ns(self) -> Mapping[str, int]:
        kinds = (Kind.PACKET_DELIVERED, Kind.PACKET_DROPPED)
        rows = self._of_link(kinds, "down" if self.end == "server" else "up")
        return _largest(rows.filter(pc.less_equal(rows["arrival_ns"], self.load_ns[1])), "arrival_ns")

    def in_packets(self, course: Course) -> Course:
        """Return the course of bytes in full packets of the sender: the largest that it had sent by each time."""
        sent = self.events(EventKind.PACKET_SENT)
        sent = sent.filter(pc.and_(among(sent["flow"], [course.flow]), sent["size_bytes"].is_valid()))
        sizes = np.append(_FEWEST_PACKET_BYTES, sent["size_bytes"].to_numpy())
        largest = np.maximum.accumulate(sizes)
        return replace(
            course,
            values=course.values / largest[np.searchsorted(sent["time_ns"].to_numpy(), course.times_ns, "right")],
        )

    def courses(self, rows: pa.Table, values: npt.NDArray[Any]) -> list[Course]:
        """Return the course of each sender from rows of events and their values; senders without rows are left out."""
        found = []
        for flow in self.flows:
            own = np.asarray(among(rows["flow"], [flow]))
            if own.any():
                times_ns = rows["time_ns"].to_numpy()[own]
                found.append(Course(flow, times_ns, values[own], self.known_until_ns(flow)))
        return found


def _competes(flow: Mapping[str, Any]) -> bool:
    return not flow["cross"] and flow["began_ns"] is not None and flow["ended_ns"] is not None


def _largest(rows: pa.Table, column: str) -> dict[str, int]:
    """Return the largest value of a column by flow."""
    named = pa.table({"flow": rows["flow"].cast(pa.string()), "at": rows[column]})
    found = named.group_by("flow").aggregate([("at", "max")]).to_pylist()
    return {row["flow"]: row["at_max"] for row in found if row["flow"] is not None}


@dataclass(frozen=True)
class Observable:
    """A quantity that an expectation may name.

    `read` returns the courses of a LEVEL or of MOMENTS. `total` returns the value of a TOTAL for a span, its begin and
    its end on the timeline's clock, in ns. `of_end`: it is the server's, and the client's with `client_` in front of
    its name. `by_group`: a group of flows that compete may stand behind its name.
    """

    name: str
    dimension: Dimension
    form: Form
    summary: str
    read: Callable[[View], list[Course]] | None = None
    total: Callable[[View, int, int], float] | None = None
    of_end: bool = False
    by_group: bool = True


def _figure(column: str, scale: float) -> Callable[[View], list[Course]]:
    def read(view: View) -> list[Course]:
        rows = view.events(EventKind.METRICS)
        rows = rows.filter(rows[column].is_valid())
        return view.courses(rows, rows[column].to_numpy().astype(np.float64) * scale)

    return read


def _states(view: View) -> list[Course]:
    rows = view.events(EventKind.STATE)
    return view.courses(rows, np.array(rows["name"].cast(pa.string()).to_pylist(), object))


def _windows_after_losses(view: View) -> list[Course]:
    """Return for each begin of a recovery the share in % that is left of the window, or of its threshold if known.

    The smallest value within a round trip and a half counts, since a sender may reduce its window step by step.
    """
    states, figures = view.events(EventKind.STATE), view.events(EventKind.METRICS)
    figures = figures.filter(figures["cwnd_bytes"].is_valid())
    found = []
    for flow in view.flows:
        own = figures.filter(among(figures["flow"], [flow]))
        begins = states.filter(pc.and_(among(states["flow"], [flow]), among(states["name"], [State.RECOVERY])))
        cuts = list(filter(None, (_cut(own, begin) for begin in begins["time_ns"].to_pylist())))
        times_ns, shares = np.array([at for at, _ in cuts], np.int64), np.array([share for _, share in cuts])
        if own.num_rows:
            found.append(Course(flow, times_ns, shares, view.known_until_ns(flow)))
    return found


def _cut(figures: pa.Table, begin_ns: int) -> tuple[int, float] | None:
    """Return when a recovery began and what it left of the window in %; None if the figures do not show it."""
    times_ns = figures["time_ns"].to_numpy()
    before = int(np.searchsorted(times_ns, begin_ns, side="left")) - 1
    if before < 0 or not (rtt_ns := figures["srtt_ns"][before].as_py()):
        return None
    behind = figures.slice(before + 1)
    near = behind.filter(pc.less_equal(behind["time_ns"], int(begin_ns + _CUT_WITHIN_ROUND_TRIPS * rtt_ns)))
    left = pc.min(pc.coalesce(near["ssthresh_bytes"], near["cwnd_bytes"])).as_py()
    return None if left is None else (begin_ns, 100.0 * left / figures["cwnd_bytes"][before].as_py())


def _queue(column: str, scale: float) -> Callable[[View], list[Course]]:
    def read(view: View) -> list[Course]:
        rows = view.packets(Kind.PACKET_DELIVERED, Kind.PACKET_DROPPED)
        rows = rows.filter(rows[column].is_valid()).sort_by("arrival_ns")
        values = rows[column].to_numpy().astype(np.float64) * scale
        return [Course("", rows["arrival_ns"].to_numpy(), values, view.load_ns[1])]

    return read


def _number_of(*kinds: EventKind, counted: Callable[[pa.Table], float]) -> Callable[[View, int, int], float]:
    """Return a total that counts rows of the end's traces within a span."""

    def total(view: View, begin_ns: int, end_ns: int) -> float:
        for flow in view.flows:
            _refuse_beyond(view, flow, end_ns)
        return counted(_between(view.events(*kinds), "time_ns", begin_ns, end_ns))

    return total


def _refuse_beyond(view: View, flow: str, end_ns: int) -> None:
    if end_ns > (known_ns := view.known_until_ns(flow)):
        ends_s = (known_ns - view.load_ns[0]) / _NS_PER_S
        raise NotKnownError(f"the trace of the {view.end} ends at {ends_s:.4g} s, and packets followed")


def _between(rows: pa.Table, column: str, begin_ns: int, end_ns: int) -> pa.Table:
    return rows.filter(pc.and_(pc.greater_equal(rows[column], begin_ns), pc.less_equal(rows[column], end_ns)))


def _declared(rows: pa.Table) -> float:
    """Return how many packets rows of losses are: a row without a packet number counts for as many as it says."""
    several = np.nan_to_num(rows["value"].to_numpy(), nan=1.0)
    return float(np.where(rows["packet_number"].is_valid().to_numpy(), 1.0, several).sum())


def _timers(*, first: bool) -> Callable[[pa.Table], float]:
    """Return a count of timers that fired: first ones and tail loss probes, or further ones and retransmission
    timeouts.
    """

    def counted(rows: pa.Table) -> float:
        columns = rows["name"].cast(pa.string()).to_pylist(), rows["value"].to_pylist()
        of_first = [
            name == "tlp" or (name != "rto" and (value or 1) <= 1) for name, value in zip(*columns, strict=True)
        ]
        return float(sum(each is first for each in of_first))

    return counted


def _rate_bps(view: View, begin_ns: int, end_ns: int) -> float:
    packets = _between(view.packets(Kind.PACKET_DELIVERED), "time_ns", begin_ns, end_ns)
    return float(pc.sum(packets["size_bytes"]).as_py() or 0) * 8 * _NS_PER_S / (end_ns - begin_ns)


def _share_pct(view: View, begin_ns: int, end_ns: int) -> float:
    flows = [flow for flow in (view.timeline.metadata.get("competition") or {}).get("flows", []) if _competes(flow)]
    if len({flow["server_address"] for flow in flows}) < 2:
        raise NotKnownError("no two flows compete")
    group = view.group or flows[0]["group"]
    rates = {
        name: _rate_bps(View(view.timeline, view.end, name), begin_ns, end_ns)
        for name in dict.fromkeys(flow["group"] for flow in flows)
    }
    total = sum(rates.values())
    if group not in rates or total == 0:
        raise NotKnownError("no flow of the group competed" if total else "the link delivered nothing")
    return 100 * rates[group] / total


def _drops(view: View, begin_ns: int, end_ns: int) -> float:
    return float(_between(view.packets(Kind.PACKET_DROPPED), "arrival_ns", begin_ns, end_ns).num_rows)


def _load_s(view: View, begin_ns: int, end_ns: int) -> float:
    return (end_ns - begin_ns) / _NS_PER_S


OBSERVABLES: Mapping[str, Observable] = {
    each.name: each
    for each in (
        Observable(
            "window", Dimension.WINDOW, Form.LEVEL, "Congestion window of a sender.",
            read=_figure("cwnd_bytes", 1.0), of_end=True,
        ),
        Observable(
            "in_flight", Dimension.WINDOW, Form.LEVEL, "Bytes sent, and neither acknowledged nor declared lost.",
            read=_figure("in_flight_bytes", 1.0), of_end=True,
        ),
        Observable(
            "round_trip", Dimension.TIME, Form.LEVEL, "Smoothed round trip time as a sender estimates it.",
            read=_figure("srtt_ns", 1 / _NS_PER_S), of_end=True,
        ),
        Observable(
            "pacing", Dimension.RATE, Form.LEVEL, "Pacing rate of a sender; not known if its log has none.",
            read=_figure("pacing_bps", 1.0), of_end=True,
        ),
        Observable(
            "state", Dimension.STATE, Form.LEVEL,
            "State of a sender, one of [the states](row-kinds.md#states) of the timeline.", read=_states, of_end=True,
        ),
        Observable(
            "window_after_loss", Dimension.SHARE, Form.MOMENTS,
            "Window (threshold, if its log has one) that a sender keeps in each recovery, in % of the one before.",
            read=_windows_after_losses, of_end=True,
        ),
        Observable(
            "queue", Dimension.SIZE, Form.MOMENTS,
            "Bytes that wait at the bottleneck towards the clients when a packet arrives there, without that packet.",
            read=_queue("queue_bytes", 1.0),
        ),
        Observable(
            "queue_wait", Dimension.TIME, Form.MOMENTS,
            "How long each packet towards the clients waits at the bottleneck, by the time of its arrival there.",
            read=_queue("value", 1.0),
        ),
        Observable(
            "declared", Dimension.COUNT, Form.TOTAL, "Packets that a sender declares lost.",
            total=_number_of(EventKind.PACKET_LOST, counted=_declared), of_end=True,
        ),
        Observable(
            "spurious", Dimension.COUNT, Form.TOTAL,
            "Packets that a sender declared lost and that arrived, by the time at which they were declared lost.",
            total=_number_of(EventKind.PACKET_SPURIOUS, counted=lambda rows: float(rows.num_rows)), of_end=True,
        ),
        Observable(
            "probes", Dimension.COUNT, Form.TOTAL,
            "First probe timeouts in a row (QUIC) and tail loss probes (TCP) of a sender.",
            total=_number_of(EventKind.PTO, counted=_timers(first=True)), of_end=True,
        ),
        Observable(
            "timeouts", Dimension.COUNT, Form.TOTAL,
            "Further probe timeouts in a row (QUIC) and retransmission timeouts (TCP) of a sender.",
            total=_number_of(EventKind.PTO, counted=_timers(first=False)), of_end=True,
        ),
        Observable(
            "drops", Dimension.COUNT, Form.TOTAL, "Packets towards the clients that the link drops, for any reason.",
            total=_drops,
        ),
        Observable(
            "rate", Dimension.RATE, Form.TOTAL,
            "Mean rate at which IP packets leave the link towards the clients, of all flows or of a group.",
            total=_rate_bps,
        ),
        Observable(
            "share", Dimension.SHARE, Form.TOTAL,
            "Part of a group of flows in the rate of all that compete; if none is named, the arm's first group.",
            total=_share_pct,
        ),
        Observable(
            "load", Dimension.TIME, Form.WHOLE,
            "How long the load takes, from the first request to the last byte.", total=_load_s, by_group=False,
        ),
    )
}  # fmt: skip
"""Every observable by its name."""
