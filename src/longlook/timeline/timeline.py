"""One table of rows per trial, from all observers (docs/reference/timeline.md explains the kinds)."""

import hashlib
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from longlook.core import InputError, Vantage, files
from longlook.timeline.doubts import doubts_of, trusted, uncounted_kinds
from longlook.timeline.events import Events


class Kind(StrEnum):
    """The kind of a row; `KINDS` documents how each kind fills the columns."""

    CONNECTION_STARTED = "connection_started"
    HANDSHAKE_DONE = "handshake_done"
    REQUEST_SENT = "request_sent"
    FIRST_BYTE = "first_byte"
    OBJECT_DONE = "object_done"
    OBJECT_FAILED = "object_failed"
    UPLOAD_DONE = "upload_done"
    PAGE_STARTED = "page_started"
    PAGE_FIRST_BYTE = "page_first_byte"
    PAGE_LOADED = "page_loaded"
    FIRST_CONTENTFUL_PAINT = "first_contentful_paint"
    LARGEST_CONTENTFUL_PAINT = "largest_contentful_paint"
    PACKET_DELIVERED = "packet_delivered"
    PACKET_DROPPED = "packet_dropped"
    PACKET_QUEUED = "packet_queued"
    CPU_USED = "cpu_used"
    PACKETS_TAKEN = "packets_taken"
    SYSTEM_CALLS = "system_calls"
    SEGMENT_REQUESTED = "segment_requested"
    SEGMENT_ARRIVED = "segment_arrived"
    PLAYBACK = "playback"
    ECHO_STARTED = "echo_started"
    ECHO_ANSWERED = "echo_answered"
    ECHO_UNANSWERED = "echo_unanswered"
    FRAME_ARRIVED = "frame_arrived"
    FRAME_MISSED = "frame_missed"
    FRAMES_HANDLED = "frames_handled"
    LOAD_STARTED = "load_started"
    LOAD_ENDED = "load_ended"


KINDS: Mapping[Kind, str] = {
    Kind.CONNECTION_STARTED: "client: it began to open a connection; flow, protocol",
    Kind.HANDSHAKE_DONE: "client, server: the connection is secure; flow, protocol, name = cold, resumed, 0rtt or null",
    Kind.REQUEST_SENT: "client: the caller issued a request; name = path, protocol, detail = its header field "
    "`priority` (RFC 9218), if it has one",
    Kind.FIRST_BYTE: "client: the first byte of an answer arrived; name = path, protocol",
    Kind.OBJECT_DONE: "client: the last byte arrived; name = path, protocol, size_bytes = body, value = HTTP status",
    Kind.OBJECT_FAILED: "client: an object did not arrive; name = path, detail = error; see below on its time",
    Kind.UPLOAD_DONE: "server: the whole body of an upload had been read; name = path, size_bytes = body, "
    "detail = method",
    Kind.PAGE_STARTED: "client, browsers: navigation start; name = path",
    Kind.PAGE_FIRST_BYTE: "client, browsers: first byte of the document; name = path",
    Kind.PAGE_LOADED: "client, browsers: the load event started; name = path",
    Kind.FIRST_CONTENTFUL_PAINT: "client, browsers: the page first showed a text or a picture; name = path",
    Kind.LARGEST_CONTENTFUL_PAINT: "client, browsers: the page showed the largest text or picture; name = path",
    Kind.PACKET_DELIVERED: "link: a packet left the router (time = departure); all packet columns, "
    "value = wait in the rate queue in s",
    Kind.PACKET_DROPPED: "link: a packet was dropped (time = arrival); name = reason, packet columns but due_ns",
    Kind.PACKET_QUEUED: "link: a packet was still inside at exit (time = arrival); packet columns",
    Kind.CPU_USED: "client, server, link: value = user + system CPU seconds of the process tree (time = client's end)",
    Kind.PACKETS_TAKEN: "client, server, in real time: value = packets that the kernel took from the device; "
    "packets that an offload merged count as one (time = client's end)",
    Kind.SYSTEM_CALLS: "client, server, with `[capture] cpu`: value = system calls of the process tree "
    "(time = client's end)",
    Kind.SEGMENT_REQUESTED: "client, players: it asked for a segment of a video; name = rung, sequence = its number",
    Kind.SEGMENT_ARRIVED: "client, players: all of it arrived; name = rung, sequence = its number, size_bytes, "
    "value = s of video in the buffer with it",
    Kind.PLAYBACK: "client, players: what the viewer sees changed; name = started, stalled, resumed or ended, "
    "value = s of the video shown so far",
    Kind.ECHO_STARTED: "client, echoes: the first try of a size; size_bytes = UDP payload",
    Kind.ECHO_ANSWERED: "client, echoes: the first answer to a size; size_bytes = UDP payload, value = tries by then",
    Kind.ECHO_UNANSWERED: "client, echoes: a size was given up (time = then); size_bytes = UDP payload, "
    "value = tries, detail = why none left, if the kernel refused it",
    Kind.FRAME_ARRIVED: "client, live sources: the last byte of a frame arrived; sequence = its number, "
    "value = s since it was produced",
    Kind.FRAME_MISSED: "client, live sources: a frame was produced that never was whole (time = then); "
    "sequence = its number",
    Kind.FRAMES_HANDLED: "server, live sources: what became of frames there (time = the end); name = sent, reset (in "
    "the middle) or dropped (before anything left), value = number of frames",
    Kind.LOAD_STARTED: "link, clients without lines: the first packet of the measured connection came; client, live "
    "sources: the first frame was produced",
    Kind.LOAD_ENDED: "link, clients without lines: the last packet that can carry bytes of a body was delivered; "
    "client, live sources: a line `frames` is over; size_bytes = bodies",
}

SCHEMA = pa.schema(
    [
        pa.field("time_ns", pa.int64(), nullable=False),  # since the trial's start (metadata started_unix_ns)
        pa.field("vantage", pa.dictionary(pa.int8(), pa.string()), nullable=False),
        pa.field("flow", pa.dictionary(pa.int32(), pa.string())),  # "tcp 198.18.0.1:40000 198.18.0.2:443", client first
        pa.field("kind", pa.dictionary(pa.int8(), pa.string()), nullable=False),
        pa.field(
            "priming", pa.bool_(), nullable=False
        ),  # of a connection that only obtains a session ticket: not measured
        pa.field("name", pa.dictionary(pa.int32(), pa.string())),  # path, reason or state, by kind
        pa.field("detail", pa.dictionary(pa.int32(), pa.string())),  # text for people, e.g. an object's error
        pa.field("protocol", pa.dictionary(pa.int8(), pa.string())),  # h3, h2 of endpoints; tcp, udp, other of packets
        pa.field("direction", pa.dictionary(pa.int8(), pa.string())),  # up | down
        pa.field("size_bytes", pa.int64()),  # IP packet, or body of an object
        pa.field("payload_bytes", pa.int64()),  # of TCP or UDP
        pa.field("transport_sequence", pa.int64()),  # TCP sequence number, 32 bits
        pa.field("queue_bytes", pa.int64()),  # in the rate stage's queue on arrival, without this packet
        pa.field("queue_packets", pa.int64()),
        pa.field("arrival_ns", pa.int64()),
        pa.field("due_ns", pa.int64()),  # when it should have left
        pa.field("value", pa.float64()),
        # Of packets, null in trials of older links:
        pa.field("acknowledgement", pa.int64()),  # TCP
        pa.field("ecn", pa.int8()),  # codepoint with which it left, else with which it arrived
        pa.field("quic", pa.dictionary(pa.int8(), pa.string())),  # form of the header: initial, handshake, short, …
        pa.field("connection_id", pa.dictionary(pa.int32(), pa.string())),  # its first 8 bytes, of the destination
        pa.field("sequence", pa.int64()),  # the packet's number in its direction, in order of arrival, from 0
    ]
)

_METADATA_KEY = b"longlook"


@dataclass(frozen=True)
class Timeline:
    """Rows in order of time. `table` has the columns of SCHEMA; a column that a kind does not use is null."""

    table: pa.Table
    events: Events | None = None
    """The events of traces, if the trial has any and they were requested."""
    derived: dict[str, Any] = field(default_factory=dict, repr=False, compare=False)
    """Values derived from these rows that several metrics need, by name."""

    @property
    def metadata(self) -> Mapping[str, Any]:
        """`started_unix_ns`, and `sources`: per file the records read, ignored and skipped, each with its reason."""
        text = (self.table.schema.metadata or {}).get(_METADATA_KEY)
        return json.loads(text) if text else {}

    @property
    def sender(self) -> Vantage:
        """The end that sends the load's data: the client if it uploads, else the server."""
        return Vantage.CLIENT if self.metadata.get("sender") == Vantage.CLIENT else Vantage.SERVER

    @property
    def data_direction(self) -> str:
        """The direction of the load's data over the links: `up` if the client uploads, else `down`."""
        return "up" if self.sender is Vantage.CLIENT else "down"

    @property
    def body_done(self) -> Kind:
        """The kind of rows that say that a body arrived: at the server if the client uploads."""
        return Kind.UPLOAD_DONE if self.sender is Vantage.CLIENT else Kind.OBJECT_DONE

    @property
    def back_direction(self) -> str:
        """The other direction."""
        return "down" if self.sender is Vantage.CLIENT else "up"

    def with_metadata(self, metadata: Mapping[str, Any]) -> "Timeline":
        """Return the same rows with other metadata."""
        table = self.table.replace_schema_metadata({_METADATA_KEY: json.dumps(metadata, sort_keys=True)})
        return Timeline(table, self.events)

    def with_events(self, events: Events) -> "Timeline":
        """Return the same rows with the events of the trial's traces, without what these contradict themselves."""
        return Timeline(self.table, trusted(events))

    def select(
        self, kind: str | Sequence[str], vantage: str | None = None, *, priming: bool | None = False
    ) -> pa.Table:
        """Return rows of one or several kinds, optionally from one vantage.

        Rows of priming connections are left out unless requested (`priming` True: only those; None: all).
        """
        kinds = [kind] if isinstance(kind, str) else list(kind)
        mask = _is_in(self.table["kind"], kinds)
        if vantage is not None:
            mask = pc.and_(mask, _is_in(self.table["vantage"], [vantage]))
        if priming is not None:
            mask = pc.and_(mask, pc.equal(self.table["priming"], priming))
        return self.table.filter(mask)

    def load_window_ns(self) -> tuple[int, int] | None:
        """Return the first and last moment of the measured transfer, or None if it did not begin or end.

        With several flows it is the time in which all competed, after the warm-up. For a browser it goes from
        navigation start to load event, for a plain client from the first request (issued before the connection opens)
        to the last object's end. For a client without lines it goes from its first packet to the last one with data.
        """
        if (competition := self.metadata.get("competition")) is not None:
            return None if competition["window_ns"] is None else tuple(competition["window_ns"])
        started, ended = self.select(Kind.PAGE_STARTED), self.select(Kind.PAGE_LOADED)
        if started.num_rows == 0:
            started = self.select(Kind.REQUEST_SENT)
            ended = self.select([Kind.OBJECT_DONE, Kind.OBJECT_FAILED])
        if started.num_rows == 0:
            started, ended = self.select(Kind.LOAD_STARTED), self.select(Kind.LOAD_ENDED)
        if started.num_rows == 0 or ended.num_rows == 0:
            return None
        return pc.min(started["time_ns"]).as_py(), pc.max(ended["time_ns"]).as_py()

    def packets_in_load(self, kinds: Sequence[Kind], direction: str) -> pa.Table:
        """Return packets of some kinds in one direction (`up`, `down`) inside the load window; no rows without a
        window.
        """
        first_ns, last_ns = self.load_window_ns() or (0, -1)
        packets = self.select(kinds, "link")
        inside = pc.and_(pc.greater_equal(packets["time_ns"], first_ns), pc.less_equal(packets["time_ns"], last_ns))
        return packets.filter(pc.and_(inside, _is_in(packets["direction"], [direction])))

    def events_in_load(self, kinds: Sequence[str], vantage: str) -> pa.Table | None:
        """Return events of some kinds at one end inside the load window; None if there is no trace of that end or no
        window, or if a trace contradicts itself about them.
        """
        window = self.load_window_ns()
        measured = [] if self.events is None else [flow for flow, end in self.events.senders() if end == vantage]
        if self.events is None or window is None or not measured:
            return None
        doubts = [each for each in doubts_of(self.events.metadata) if each.flow is None or each.flow in measured]
        if {*kinds} & {*uncounted_kinds(doubts, vantage)}:  # a doubt about a priming connection is none here
            return None
        rows = self.events.select(kinds, vantage)
        inside = pc.and_(pc.greater_equal(rows["time_ns"], window[0]), pc.less_equal(rows["time_ns"], window[1]))
        return rows.filter(inside)

    def write(self, path: Path) -> None:
        """Save as Parquet."""
        pq.write_table(self.table, path, compression="zstd")

    def digest(self) -> str:
        """Return SHA-256 of every value, the columns' types and the metadata, whatever the layout in memory."""
        sink = pa.BufferOutputStream()
        pq.write_table(self.table, sink, compression="none")  # unlike Arrow's own format, it leaves out what nulls hide
        return hashlib.sha256(sink.getvalue()).hexdigest()

    @classmethod
    def read(cls, path: Path) -> "Timeline":
        """Return a saved timeline. Raise InputError if the file is not of this version."""
        try:
            table = pq.read_table(files.regular(path))
            metadata = table.schema.metadata
            return cls(table.cast(SCHEMA).replace_schema_metadata(metadata))
        except (pa.ArrowInvalid, ValueError, KeyError) as error:
            raise InputError(
                f"{path}: not a timeline of this version: {error}",
                "normalise the run folder again: longlook report RUN",
            ) from error


def _is_in(column: pa.ChunkedArray, values: list[str]) -> Any:
    return pc.is_in(column.cast(pa.string()), value_set=pa.array([str(value) for value in values]))


Codes = npt.NDArray[np.integer[Any]]


def table_of_rows(rows: Sequence[Mapping[str, Any]]) -> pa.Table:
    """Return a table of few rows given as dictionaries; absent keys are null."""
    columns = [pa.array([row.get(field.name) for row in rows], _plain(field.type)).cast(field.type) for field in SCHEMA]
    return pa.table(columns, schema=SCHEMA)


def table_of_columns(columns: Mapping[str, pa.Array], num_rows: int) -> pa.Table:
    """Return a table of many rows given as Arrow arrays; absent columns are null."""
    arrays = [
        columns[field.name].cast(field.type) if field.name in columns else pa.nulls(num_rows, field.type)
        for field in SCHEMA
    ]
    return pa.table(arrays, schema=SCHEMA)


def texts(codes: Codes, names: Sequence[str | None]) -> pa.DictionaryArray:
    """Return a text column of `codes`, indices into `names`; a name of None is null."""
    known = list(dict.fromkeys(name for name in names if name is not None))
    position = np.array([known.index(name) if name is not None else -1 for name in names], np.int32)
    indices = position[codes] if len(names) else np.zeros(0, np.int32)
    return pa.DictionaryArray.from_arrays(pa.array(indices, mask=indices < 0), pa.array(known, pa.string()))


def constant_text(name: str, num_rows: int) -> pa.DictionaryArray:
    """Return a text column with the same value everywhere."""
    return texts(np.zeros(num_rows, np.int32), [name])


def merge_tables(tables: Sequence[pa.Table]) -> pa.Table:
    """Return all rows in order of time; rows of the same time stay in the order given."""
    joined = pa.concat_tables(tables).unify_dictionaries().combine_chunks()
    return joined.take(pc.sort_indices(joined["time_ns"]))


def _plain(kind: pa.DataType) -> pa.DataType:
    return kind.value_type if pa.types.is_dictionary(kind) else kind


SAME_BYTES = "the same bytes as packet "
"""Begins one of the parts of `detail`, which "; " separates; the earlier packet's `sequence` follows."""

_PART = re.compile(rf"(?:^|; ){SAME_BYTES}(\d{{1,18}})(?:; |$)")


def packet_of_same_bytes(detail: str | None) -> int | None:
    """Return the number of the earlier packet that had the same bytes, by a packet's `detail`; None if it names none.

    The number counts the packets of the link and direction of the packet that `detail` is of.
    """
    found = _PART.search(detail or "")
    return None if found is None else int(found[1])
