"""Several flows over one link, as the link saw them: each one's rate, goodput and loss over time. Pure.

A flow's *rate* counts IP packets that left the link towards the client, including retransmissions: the capacity that it
took from the others. Its *goodput* counts new payload.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from longlook.core import address_in
from longlook.timeline.payload import new_payload_bytes
from longlook.timeline.timeline import Kind, Timeline


def first_packet_ns(timeline: Timeline) -> int:
    """Return when the first packet came to the link, of priming connections too; 0 if there was none."""
    kinds = (Kind.PACKET_DELIVERED, Kind.PACKET_DROPPED)
    return pc.min(timeline.select(kinds, "link", priming=None)["arrival_ns"]).as_py() or 0


def integral(capacity: Mapping[str, Any], begin_ns: float, end_ns: float) -> float:
    """Return bit/s × ns of a rate in steps from `begin_ns` to `end_ns`, which count from the first packet.

    The first step holds before link time 0 too.
    """
    steps, repeat_ns, phase_ns = capacity["steps"], capacity["repeat_ns"], capacity.get("phase_ns", 0)

    def until(moment_ns: float) -> float:
        if moment_ns <= 0:
            return float(steps[0][1] * moment_ns)
        rounds, rest_ns = divmod(moment_ns, repeat_ns) if repeat_ns else (0, moment_ns)
        ends = [*(step[0] for step in steps[1:]), repeat_ns or float("inf")]
        spans = [(at, end, rate) for (at, rate), end in zip(steps, ends, strict=True)]
        whole = rounds * sum(rate * (end - at) for at, end, rate in spans) if rounds else 0
        return float(whole + sum(rate * max(0, min(rest_ns, end) - at) for at, end, rate in spans))

    return until(end_ns + phase_ns) - until(begin_ns + phase_ns)


Numbers = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int64]

_NS_PER_S = 1e9


@dataclass(frozen=True)
class LinkFlow:
    """One flow, or all flows of cross traffic to one server. Times are ns since the trial's start."""

    name: str
    group: str
    cross: bool
    server_address: str
    began_ns: int
    ended_ns: int


@dataclass(frozen=True)
class Packets:
    """The fates of packets towards the client, in order of time; arrays of one length."""

    time_ns: Integers
    flow: Integers  # index into the competition's flows
    size_bytes: Integers  # IP
    fresh_bytes: Integers  # new payload
    wait_s: Numbers  # in the link's queues; NaN where that is not known
    marked: npt.NDArray[np.bool_] | None = None  # by the link's queues; None where the log does not tell


@dataclass(frozen=True)
class Competition:
    """The competing flows of a trial. The first group, `subject`, is under test; the other groups compete with it."""

    flows: tuple[LinkFlow, ...]
    window_ns: tuple[int, int] | None  # while all flows competed, after the warm-up
    delivered: Packets
    dropped: Packets
    capacity: Mapping[str, Any] | None  # as in the timeline's metadata
    first_packet_ns: int
    rtt_s: float | None = None  # without queues; None where it varies
    offered: Packets | None = None  # TCP's payload that reached the link, in order of arrival; None: not looked at

    @classmethod
    def of(cls, timeline: Timeline) -> "Competition | None":
        """Return the competition of a trial's timeline, computed once, or None if the trial has one flow."""
        facts = timeline.metadata.get("competition")
        if facts is None:
            return None
        if "competition" not in timeline.derived:
            timeline.derived["competition"] = cls._worked_out(timeline, facts)
        known: Competition = timeline.derived["competition"]
        return known

    @classmethod
    def _worked_out(cls, timeline: Timeline, facts: Mapping[str, Any]) -> "Competition":
        flows = _link_flows(facts["flows"])
        window = facts["window_ns"]
        delivered, dropped = (_packets(timeline, flows, kind) for kind in (Kind.PACKET_DELIVERED, Kind.PACKET_DROPPED))
        first_ns = first_packet_ns(timeline)
        span = None if window is None else (int(window[0]), int(window[1]))
        rtt_s = None if facts["rtt_ns"] is None else facts["rtt_ns"] / _NS_PER_S
        offered = _offered(timeline, flows)
        return cls(flows, span, delivered, dropped, facts["capacity"], first_ns, rtt_s, offered)

    @property
    def competing(self) -> list[int]:
        """The flows that compete, which cross traffic does not."""
        return [index for index, flow in enumerate(self.flows) if not flow.cross]

    @property
    def subject(self) -> list[int]:
        """The flows of the first group."""
        first = self.flows[self.competing[0]].group if self.competing else ""
        return [index for index in self.competing if self.flows[index].group == first]

    @property
    def competitors(self) -> list[int]:
        """The competing flows of all other groups."""
        return [index for index in self.competing if index not in self.subject]

    @cached_property
    def rates_bps(self) -> Numbers | None:
        """Each flow's mean rate within the window, shape (flows,); None without a window."""
        return None if self.window_ns is None else self.mean_bps(self.delivered.size_bytes, self.window_ns)

    @cached_property
    def goodputs_bps(self) -> Numbers | None:
        """Each flow's mean goodput within the window, shape (flows,); None without a window."""
        return None if self.window_ns is None else self.mean_bps(self.delivered.fresh_bytes, self.window_ns)

    def mean_bps(self, sizes_bytes: Integers, window_ns: tuple[int, int]) -> Numbers:
        """Return each flow's bytes of delivered packets within any window as a rate, shape (flows,)."""
        inside = _within(self.delivered, window_ns)
        total = np.bincount(self.delivered.flow[inside], sizes_bytes[inside], len(self.flows)).astype(np.float64)
        return total * 8 * _NS_PER_S / (window_ns[1] - window_ns[0])

    def series_bps(self, bin_s: float, begin_ns: int, end_ns: int) -> Numbers:
        """Return each flow's rate over time in whole bins from `begin_ns`, shape (flows, bins)."""
        bin_ns = round(bin_s * _NS_PER_S)
        bins = (end_ns - begin_ns) // bin_ns
        inside = _within(self.delivered, (begin_ns, begin_ns + bins * bin_ns))
        number = (self.delivered.time_ns[inside] - begin_ns) // bin_ns
        flat = self.delivered.flow[inside] * bins + number
        sums = np.bincount(flat, self.delivered.size_bytes[inside], len(self.flows) * bins)
        return sums.reshape(len(self.flows), bins) * 8 / bin_s

    def capacity_series_bps(self, bin_s: float, begin_ns: int, bins: int) -> Numbers | None:
        """Return the link's mean rate in bins from `begin_ns`, shape (bins,), or None if it is unknown."""
        if self.capacity is None:
            return None
        edges_ns = begin_ns - self.first_packet_ns + np.arange(bins + 1) * bin_s * _NS_PER_S
        spans = zip(edges_ns[:-1].tolist(), edges_ns[1:].tolist(), strict=True)
        return np.array([integral(self.capacity, begin, end) / (end - begin) for begin, end in spans])

    def lost_shares(self) -> Numbers | None:
        """Return the share of each flow's packets at the link within the window that it dropped; NaN without
        packets.
        """
        if self.window_ns is None:
            return None
        lost, passed = (
            np.bincount(packets.flow[_within(packets, self.window_ns)], minlength=len(self.flows))
            for packets in (self.dropped, self.delivered)
        )
        total = lost + passed
        shares: Numbers = np.divide(lost, total, out=np.full(len(total), np.nan), where=total > 0)
        return shares

    def marked_pct(self, flows: Sequence[int]) -> float | None:
        """Return the mean over some flows of the share of packets within the window that the link marked, in %.

        It is None without packets of each, or in trials of links that did not log marks.
        """
        if self.window_ns is None or self.delivered.marked is None or not flows:
            return None
        inside = _within(self.delivered, self.window_ns)
        of_each = [self.delivered.marked[inside & (self.delivered.flow == flow)] for flow in flows]
        return 100 * float(np.mean([marked.mean() for marked in of_each])) if all(map(len, of_each)) else None

    def waits_ms(self, flows: Sequence[int], quantile: float) -> float | None:
        """Return a quantile of the waits in ms of all packets of some flows within the window, all in one.

        It is None if no wait is known.
        """
        if self.window_ns is None:
            return None
        chosen = _within(self.delivered, self.window_ns) & np.isin(self.delivered.flow, flows)
        waits_s = self.delivered.wait_s[chosen]
        known = waits_s[~np.isnan(waits_s)]
        return 1e3 * float(np.quantile(known, quantile)) if len(known) else None

    def repeated_shares(self) -> Numbers | None:
        """Return the share of each flow's payload at the link within the window that had reached it before.

        The shape is (flows,). It is NaN for all but TCP, whose sequence numbers show it: QUIC repeats data in packets
        with new numbers.
        """
        if self.window_ns is None or self.offered is None:
            return None
        inside = _within(self.offered, self.window_ns)
        total, fresh = (
            np.bincount(self.offered.flow[inside], sizes[inside], len(self.flows))
            for sizes in (self.offered.size_bytes, self.offered.fresh_bytes)
        )
        shares: Numbers = np.divide(total - fresh, total, out=np.full(len(total), np.nan), where=total > 0)
        return shares

    def repeated_pct(self, flows: Sequence[int]) -> float | None:
        """Return the mean of the shares of payload that some flows sent again, in %; None without TCP among them."""
        shares = self.repeated_shares()
        known = [] if shares is None else [share for share in shares[flows] if not np.isnan(share)]
        return 100 * float(np.mean(known)) if known else None

    def capacity_bps(self) -> float | None:
        """Return the link's mean rate within the window, or None if it is unknown."""
        if self.capacity is None or self.window_ns is None:
            return None
        begin_ns, end_ns = (moment - self.first_packet_ns for moment in self.window_ns)
        return integral(self.capacity, begin_ns, end_ns) / (end_ns - begin_ns)

    def fair_bps(self) -> float | None:
        """Return a competing flow's max-min fair share of the link, or None if the link's rate is unknown.

        Cross traffic that takes less than an equal part keeps what it takes; the rest is divided equally (Bertsekas and
        Gallager, Data Networks, 6.5.2).
        """
        capacity_bps, rates = self.capacity_bps(), self.rates_bps
        if capacity_bps is None or rates is None or not self.competing:
            return None
        wanted = sorted(float(rates[index]) for index, flow in enumerate(self.flows) if flow.cross)
        left_bps, count = capacity_bps, len(self.competing) + len(wanted)
        for demand_bps in wanted:
            if demand_bps >= left_bps / count:
                break
            left_bps, count = left_bps - demand_bps, count - 1
        return left_bps / count


MARKED = "congestion experienced marked"
"""How the `detail` of a packet begins that a queue of the link marked."""

_PACKETS = (Kind.PACKET_DELIVERED, Kind.PACKET_DROPPED)
_SEGMENTS = {"direction": "down", "protocol": "tcp"}


def to_server(table: pa.Table, address: str) -> pa.Table:
    """Return the rows of flows to one server; `flow` is `tcp CLIENT SERVER`, each with its port."""
    return table.filter(pc.match_substring_regex(table["flow"].cast(pa.string()), rf" {re.escape(address)}:\d+$"))


def jain(rates: Sequence[float] | Numbers) -> float | None:
    """Return Jain's index, (Σx)² / (n·Σx²): 1 if all are equal, 1/n if one has all (Jain, Chiu and Hawe 1984)."""
    values = np.asarray(rates, np.float64)
    squares = float((values**2).sum())
    return float(values.sum()) ** 2 / (len(values) * squares) if squares > 0 else None


def _link_flows(facts: Sequence[Mapping[str, Any]]) -> tuple[LinkFlow, ...]:
    """Return the flows by server, in order; flows that never began are left out."""
    found: dict[str, list[Mapping[str, Any]]] = {}
    for flow in facts:
        if flow["began_ns"] is not None and flow["ended_ns"] is not None:
            found.setdefault(flow["server_address"], []).append(flow)
    return tuple(
        LinkFlow(
            name=members[0]["name"] if len(members) == 1 else members[0]["group"],
            group=members[0]["group"],
            cross=members[0]["cross"],
            server_address=address,
            began_ns=min(flow["began_ns"] for flow in members),
            ended_ns=max(flow["ended_ns"] for flow in members),
        )
        for address, members in found.items()
    )


def _packets(timeline: Timeline, flows: Sequence[LinkFlow], kind: Kind) -> Packets:
    rows = timeline.select(kind, "link")
    rows = rows.filter(pc.equal(rows["direction"].cast(pa.string()), "down"))
    flow = _flow_of(rows, flows)
    known = flow >= 0
    fresh = new_payload_bytes(rows) if kind is Kind.PACKET_DELIVERED else np.zeros(rows.num_rows, np.int64)
    return Packets(
        rows["time_ns"].to_numpy()[known],
        flow[known],
        rows["size_bytes"].to_numpy()[known].astype(np.int64),
        fresh[known],
        rows["value"].fill_null(float("nan")).to_numpy()[known],
        None if kind is not Kind.PACKET_DELIVERED else are_marked(rows)[known],
    )


def are_marked(rows: pa.Table) -> npt.NDArray[np.bool_]:
    """Return which packets a queue of the link marked, whatever a middlebox behind it made of the mark."""
    details = rows["detail"].combine_chunks()
    of_text = np.array([*((text or "").startswith(MARKED) for text in details.dictionary.to_pylist()), False], np.bool_)
    marked: npt.NDArray[np.bool_] = of_text[details.indices.fill_null(len(of_text) - 1).to_numpy(zero_copy_only=False)]
    return marked


def _offered(timeline: Timeline, flows: Sequence[LinkFlow]) -> Packets:
    """Return TCP's segments, dropped and delivered, with the part of their payload (`size_bytes`) that came first."""
    rows = timeline.select(_PACKETS, "link")
    down, tcp = (pc.equal(rows[name].cast(pa.string()), value) for name, value in _SEGMENTS.items())
    rows = rows.filter(pc.and_(down, tcp)).sort_by("arrival_ns")
    flow = _flow_of(rows, flows)
    known = flow >= 0
    size = rows["payload_bytes"].fill_null(0).to_numpy().astype(np.int64)
    waits = np.full(int(known.sum()), np.nan)
    return Packets(
        rows["arrival_ns"].to_numpy()[known], flow[known], size[known], new_payload_bytes(rows)[known], waits
    )


def _flow_of(rows: pa.Table, flows: Sequence[LinkFlow]) -> Integers:
    """Return the index of each row's flow, -1 for none."""
    column = rows["flow"].combine_chunks()
    names = column.dictionary.to_pylist()
    places = {flow.server_address: index for index, flow in enumerate(flows)}
    of_name = np.array([*(places.get(server_of(name), -1) for name in names), -1], np.int64)
    flow: Integers = of_name[column.indices.fill_null(len(names)).to_numpy(zero_copy_only=False)]
    return flow


def server_of(flow: str | None) -> str:
    """Return the server's address of `tcp CLIENT SERVER`."""
    return address_in((flow or "").rpartition(" ")[2])


def _within(packets: Packets, window_ns: tuple[int, int]) -> npt.NDArray[np.bool_]:
    inside: npt.NDArray[np.bool_] = (packets.time_ns >= window_ns[0]) & (packets.time_ns < window_ns[1])
    return inside


FLOW_COLUMNS = (
    *("flow", "group", "cross", "began_s", "ended_s", "rate_mbps", "goodput_mbps", "share_pct", "loss_pct"),
    "repeated_pct",
)
"""Times are since the trial's start. The other columns cover the window in which all flows competed and are null
without one. The share is of what all competing flows got, null for cross traffic.
`repeated_pct` is of TCP's payload that reached the
link, null for other flows."""
RATE_COLUMNS = ("flow", "group", "time_s", "mbps", "link_mbps")
"""Columns of bins from the first flow's start; `time_s` is a bin's beginning. `link_mbps` is the link's capacity,
null if unknown.
"""

BINS_S = (0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0, 20.0, 60.0)
MOST_BINS = 240

Columns = dict[str, list[Any]]


def flow_columns(competition: Competition) -> Columns:
    """Return one row for each flow, with the columns FLOW_COLUMNS."""
    rates, goodputs = competition.rates_bps, competition.goodputs_bps
    losses, repeats = competition.lost_shares(), competition.repeated_shares()
    total = 0.0 if rates is None else float(rates[competition.competing].sum())
    rows: list[tuple[Any, ...]] = []
    for index, flow in enumerate(competition.flows):
        share = 100 * float(rates[index]) / total if rates is not None and total and not flow.cross else None
        rows.append(
            (
                *(flow.name, flow.group, flow.cross, flow.began_ns / 1e9, flow.ended_ns / 1e9),
                float(rates[index]) / 1e6 if rates is not None else None,
                float(goodputs[index]) / 1e6 if goodputs is not None else None,
                share,
                *(_percent(shares, index) for shares in (losses, repeats)),
            )
        )
    return {name: [row[place] for row in rows] for place, name in enumerate(FLOW_COLUMNS)}


def _percent(shares: Numbers | None, index: int) -> float | None:
    return None if shares is None or np.isnan(shares[index]) else 100 * float(shares[index])


def rate_columns(competition: Competition) -> Columns:
    """Return the rate of every flow in every whole bin, with the columns RATE_COLUMNS; no rows if no flow began."""
    if not competition.flows:
        return {name: [] for name in RATE_COLUMNS}
    begin_ns = min(flow.began_ns for flow in competition.flows)
    end_ns = max(flow.ended_ns for flow in competition.flows)
    length_s = (end_ns - begin_ns) / 1e9
    bin_s = next((width for width in BINS_S if length_s / width <= MOST_BINS), length_s / MOST_BINS)
    series = competition.series_bps(bin_s, begin_ns, end_ns)
    bins = series.shape[1]
    times_s = (np.arange(bins) * bin_s).round(6).tolist()
    capacity = competition.capacity_series_bps(bin_s, begin_ns, bins)
    link = [None] * bins if capacity is None else (capacity / 1e6).round(6).tolist()
    return {
        "flow": [flow.name for flow in competition.flows for _ in range(bins)],
        "group": [flow.group for flow in competition.flows for _ in range(bins)],
        "time_s": times_s * len(competition.flows),
        "mbps": (series.reshape(-1) / 1e6).round(6).tolist(),
        "link_mbps": link * len(competition.flows),
    }
