"""A trial's traces → one file of events: decoded, put on the trial's clock, joined with its link, with their states."""

from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from longlook.core import SCHEMA_VERSION, InputError, Run, Trial, Vantage
from longlook.timeline.doubts import columns_of, kinds_of, values_in_doubt
from longlook.timeline.events import QUEUE_FULL, EventKind
from longlook.timeline.normalise.datagrams import RECEIVED_BY, SENT_BY, Datagrams, links_of
from longlook.timeline.normalise.event_tables import CONNECTION, DecodedTrace, write_merged
from longlook.timeline.normalise.packet_join import Joined, Lag, join, lag_of, resolution_ns, skew_problems
from longlook.timeline.normalise.rows import NULL, Rows
from longlook.timeline.normalise.sender import COLUMNS
from longlook.timeline.normalise.spurious import (
    agreement,
    by_number,
    find_spurious,
    find_spurious_segments,
    received_of,
    sent_of,
)
from longlook.timeline.normalise.states import find_states
from longlook.timeline.normalise.trace_files import Places, RawTrace, TracePlace, TraceVantage, raw_traces
from longlook.timeline.timeline import Timeline

Decode = Callable[[Path, TraceVantage, Path], Mapping[str, Any]]
"""Writes the rows of a trace from a vantage to a Parquet file, and returns its account; InputError if it is not a
trace.
"""

_PATH = "path"
_PATHS = "it has several paths: its packets are joined with the link, and its states found, on path 0 alone"

MOST_ROWS = 8_000_000
"""The rows that the traces of a trial may have in all: joins and states hold columns of all of them in memory."""


@dataclass
class _Traced:
    """One connection in one trace."""

    trace: RawTrace
    place: TracePlace
    rows: Rows
    joins: "_Joins | None"
    note: dict[str, Any] = field(default_factory=dict)  # for the metadata


@dataclass(frozen=True)
class _Joins:
    """The packets that one connection's end sent and received, with the link's view of them."""

    sent_rows: Rows
    sent: Joined
    sent_datagrams: Datagrams
    sent_lag: Lag | None
    received_rows: Rows
    received_datagrams: Datagrams
    discards: int  # packets for which it had no room


def normalise_traces(
    folder: Path, trial: Trial, run: Run, timeline: Timeline, decode: Decode, out: Path
) -> Mapping[str, Any] | None:
    """Write the events of every trace in a trial's folder to `out`; return their metadata, or None without a trace.

    `timeline` is the trial's. Nothing that a program wrote raises an error: a trace that cannot be used is named in the
    metadata under `sources` with the reason, with counts of all that was read, ignored and skipped.
    """
    traces = raw_traces(folder)
    if not traces:
        return None
    scratch = out.with_name(f".{out.name}.parts")
    scratch.mkdir(exist_ok=True)
    try:
        stage = _Stage(trial, run, timeline, scratch)
        for trace in traces:
            stage.add(trace, decode)
        metadata = {
            "schema_version": SCHEMA_VERSION,
            "trial_id": trial.id,
            "started_unix_ns": run.started_unix_ns,
            "sources": stage.sources,
        }
        extra = stage.finish()
        write_merged(stage.parts, extra, out, metadata)
    finally:
        for path in scratch.iterdir():
            path.unlink()
        scratch.rmdir()
    return metadata


class _Stage:
    def __init__(self, trial: Trial, run: Run, timeline: Timeline, scratch: Path) -> None:
        self._controllers = _controllers(trial)
        self._run = run
        self._links = links_of(timeline, trial)
        places = {link: Places(link, timeline) for link in set(self._links.values())}  # both ends mostly have one
        self._places = {end: places[link] for end, link in self._links.items()}
        self._scratch = scratch
        self._traced: list[_Traced] = []
        self._rows = 0
        self.parts: list[DecodedTrace] = []
        self.sources: dict[str, Any] = {}

    def add(self, trace: RawTrace, decode: Decode) -> None:
        """Decode a trace and put it into its place."""
        decoded = self._scratch / f"{len(self.parts)}.parquet"
        try:
            account = dict(decode(trace.path, trace.vantage, decoded))
        except InputError as error:
            reason = str(error).replace(str(trace.path), trace.name)  # the same wherever the run folder is
            self.sources[trace.name] = {"present": True, "read": 0, "error": reason}
            return
        count = pq.read_metadata(decoded).num_rows
        if self._rows + count > MOST_ROWS:
            decoded.unlink()
            reason = (
                f"{trace.name} is too long: {count:,} rows, where the traces of a trial may have {MOST_ROWS:,} in all"
            )
            hint = "let the program log less or the load be shorter; longlook trace reads a trace of any length"
            self.sources[trace.name] = {"present": True, "read": 0, "error": f"{reason} ({hint})"}
            return
        self._rows += count
        connections = account.pop("connections", [])
        self.sources[trace.name] = source = {"present": True, **account, "connections": []}
        reference = account.get("reference_unix_ns")
        offset_ns = None if reference is None else reference - self._run.started_unix_ns
        places = []
        for index, connection in enumerate(connections):
            several = len(connection.get("paths", [])) > 1
            rows = _rows_of(decoded, index, len(connections), first_path=several)
            doubted = values_in_doubt(account, index)
            rows = rows.without(kinds_of(doubted), columns_of(doubted))
            if several:
                source["warnings"] = [*source.get("warnings", []), {"problem": _PATHS}]
            traced, offset_ns = self._place(trace, connection, rows, offset_ns)
            places.append(traced.place)
            source["connections"].append(traced.note)
            if len(rows):
                self._traced.append(traced)
        source["clock_from"] = "trace" if reference is not None else "link" if offset_ns is not None else "nothing"
        if offset_ns is None:
            source["warnings"] = [
                *source.get("warnings", []),
                {"problem": "its clock is unknown: times are its own"},
            ]
        self.parts.append(
            DecodedTrace(decoded, offset_ns or 0, trace.vantage, places or [TracePlace(None, False, "no connection")])
        )

    def _place(
        self, trace: RawTrace, connection: Mapping[str, Any], rows: Rows, offset_ns: int | None
    ) -> tuple[_Traced, int | None]:
        first_ns = connection.get("first_ns")
        known_ns = first_ns + offset_ns if first_ns is not None and offset_ns is not None else None
        place = self._places[Vantage(trace.vantage)].find(trace.transport, trace.name, connection, known_ns)
        note = {**connection, "flow": place.flow, "priming": place.priming, "placed_by": place.rule}
        joins = None
        if place.flow is not None and len(rows):
            if offset_ns is None:
                offset_ns = self._anchor(trace, place, rows)
            rows = _shifted(rows, offset_ns or 0)
            if trace.transport == "udp":
                joins = self._join(trace.vantage, place.flow, place, rows, note)
        else:
            rows = _shifted(rows, offset_ns or 0)
        return _Traced(trace, place, rows, joins, note), offset_ns

    def _anchor(self, trace: RawTrace, place: TracePlace, rows: Rows) -> int | None:
        """Return the offset for the times of a trace whose clock does not have the time of day.

        Its first packet is aligned with the connection's first datagram at the link: received when that left the link,
        or sent when it reached it.
        """
        packets = np.flatnonzero(rows.matches("kind", EventKind.PACKET_SENT, EventKind.PACKET_RECEIVED))
        if not len(packets) or place.flow is None:
            return None
        sent = rows.text("kind", int(packets[0])) == EventKind.PACKET_SENT
        end = Vantage(trace.vantage)
        direction = (SENT_BY if sent else RECEIVED_BY)[end]
        datagrams = self._links[end].datagrams(place.flow, direction, priming=place.priming)
        times_ns = datagrams.arrival_ns if sent else np.sort(datagrams.departure_ns[datagrams.delivered])
        return int(times_ns[0] - rows["time_ns"][packets[0]]) if len(times_ns) else None

    def _join(self, vantage: str, flow: str, place: TracePlace, rows: Rows, note: dict[str, Any]) -> _Joins:
        sent_rows = rows.kind(EventKind.PACKET_SENT)
        end = Vantage(vantage)
        link = self._links[end]
        out = link.datagrams(flow, SENT_BY[end], priming=place.priming)
        sent = join(sent_rows, out, out.arrival_ns, forwards=True)
        note["resolution_ns"] = resolution_ns(rows["time_ns"])
        lag = lag_of(sent_rows, sent, out.arrival_ns, forwards=True)
        note["sent"] = _join_note(sent_rows, out, sent, lag)
        back = link.datagrams(flow, RECEIVED_BY[end], priming=place.priming)
        full = rows.kind(EventKind.PACKET_DISCARDED)
        discards = int(np.count_nonzero(full.matches("name", *QUEUE_FULL) & (full["space"] == NULL)))
        return _Joins(sent_rows, sent, out, lag, rows.kind(EventKind.PACKET_RECEIVED), back, discards)

    def finish(self) -> list[pa.Table]:
        """Return rows that only several records together give: states, and spurious losses."""
        tables = []
        for traced in self._traced:
            controller = self._controllers[traced.trace.transport, traced.trace.vantage]
            states = find_states(traced.rows, traced.trace.source, controller)
            tables.append(states.table(traced.trace.vantage, traced.place))
            if traced.joins is not None:
                peers = self._peers(traced)
                self._check_clock(traced, traced.joins, peers[0] if peers else None)
                tables.append(self._losses(traced, traced.joins, peers))
            elif traced.trace.transport == "tcp" and traced.place.flow is not None:
                tables.append(self._segments(traced, traced.place.flow))
        return tables

    def _segments(self, traced: _Traced, flow: str) -> pa.Table:
        vantage, place = traced.trace.vantage, traced.place
        end = Vantage(vantage)
        sent = self._links[end].datagrams(flow, SENT_BY[end], priming=place.priming)
        found = find_spurious_segments(vantage, place, traced.rows, sent)
        traced.note["losses"] = found.counts
        return found.table

    def _check_clock(self, traced: _Traced, joins: _Joins, peer: _Joins | None) -> None:
        """Note the packets' time from the link to this end, and contradictions between the clocks."""
        rows = joins.received_rows
        if peer is not None:
            came, departure_ns = peer.sent_datagrams, peer.sent_datagrams.departure_ns
            received = by_number(rows, sent_of(peer.sent_rows, peer.sent))
        else:
            came = joins.received_datagrams.in_order_of_departure()
            departure_ns = came.departure_ns
            received = join(rows, came, departure_ns, forwards=False)
        lag = lag_of(rows, received, departure_ns, forwards=False)
        traced.note["received"] = _join_note(rows, came, received, lag)
        traced.note["skew"] = skew_problems(joins.sent_lag, lag, traced.note["resolution_ns"])

    def _losses(self, traced: _Traced, joins: _Joins, peers: list[_Joins]) -> pa.Table:
        sent = sent_of(joins.sent_rows, joins.sent)
        parts = [received_of(peer.received_rows, peer.discards) for peer in peers]
        received = parts[0].joined(parts[1:]) if parts else None
        lost = traced.rows.kind(EventKind.PACKET_LOST)
        acked = traced.rows.kind(EventKind.PACKET_ACKED)
        found = find_spurious(traced.trace.vantage, traced.place, lost, acked, sent, joins.sent_datagrams, received)
        traced.note["losses"] = found.counts
        traced.note["peer"] = None if received is None else agreement(sent, joins.sent_datagrams, received)
        return found.table

    def _peers(self, traced: _Traced) -> list[_Joins]:
        """Return the other end's traces of the same connection, the one with most packets first.

        quinn names a client's connection anew once the server has chosen an id, so that its trace is two.
        """
        own = (traced.place.flow, traced.place.priming)
        found = [
            other.joins
            for other in self._traced
            if (other.place.flow, other.place.priming) == own and other.trace.vantage != traced.trace.vantage
        ]
        return sorted((joins for joins in found if joins is not None), key=lambda each: -len(each.received_rows))


def _controllers(trial: Trial) -> dict[tuple[str, str], str | None]:
    """Return the congestion controller that each end was configured with; None if its configuration names none."""
    ends = {Vantage.SERVER: trial.server, Vantage.CLIENT: trial.client}
    configured = {("udp", end.value): endpoint.knobs.get("congestion_control") for end, endpoint in ends.items()}
    configured |= {("tcp", end.value): trial.congestion_control for end in ends}
    return {key: None if name is None else str(name) for key, name in configured.items()}


def _join_note(rows: Rows, datagrams: Datagrams, joined: Joined, lag: Lag | None) -> dict[str, Any]:
    return {
        "packets": len(rows),
        "datagrams": len(datagrams),
        "joined_share": joined.share,
        "lag": None if lag is None else asdict(lag),
    }


def _rows_of(decoded: Path, index: int, connections: int, *, first_path: bool) -> Rows:
    """Return the rows of one of a decoded trace's connections, or only the rows of its first path and of no path."""
    with pq.ParquetFile(decoded) as file:
        chosen = pc.equal(file.read([CONNECTION])[CONNECTION], index) if connections > 1 else None
        if first_path:
            on_first = pc.fill_null(pc.equal(file.read([_PATH])[_PATH], 0), fill_value=True)
            chosen = on_first if chosen is None else pc.and_(chosen, on_first)

        def column(name: str) -> pa.ChunkedArray:
            whole = file.read([name])[name]
            return whole if chosen is None else whole.filter(chosen)

        return Rows.read(column, COLUMNS)


def _shifted(rows: Rows, offset_ns: int) -> Rows:
    return Rows({**rows.columns, "time_ns": rows["time_ns"] + offset_ns}, rows.texts)
