"""The events in the traces of a trial's endpoints, joined with the link: one table (docs/reference/timeline.md lists
the kinds).
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from longlook.core import InputError, files


class EventKind(StrEnum):
    """The kind of a row; `EVENT_KINDS` documents how each kind fills the columns."""

    PACKET_SENT = "packet_sent"
    PACKET_RECEIVED = "packet_received"
    PACKET_ACKED = "packet_acked"
    PACKET_LOST = "packet_lost"
    PACKET_SPURIOUS = "packet_spurious"
    PACKET_REFUSED = "packet_refused"
    PACKET_RETRANSMITTED = "packet_retransmitted"
    PACKET_DISCARDED = "packet_discarded"
    METRICS = "metrics"
    CONGESTION_STATE = "congestion_state"
    LOSS_TIMER = "loss_timer"
    PTO = "pto"
    BLOCKED = "blocked"
    APP_LIMITED = "app_limited"
    MILESTONE = "milestone"
    PARAMETERS = "parameters"
    STATE = "state"
    STREAM_DATA = "stream_data"


QUEUE_FULL = frozenset({"rejected", "dos_prevention"})
"""The triggers of `packet_discarded` if a receiver has no room for a packet, in qlog's words of today and before.

Such a packet was not looked at, so that its row has no packet number space.
"""

LIMIT_ENDED = "ended"
"""In `detail` of a row of kind `blocked` of the kernel's: its limit no longer holds."""

EVENT_KINDS: Mapping[EventKind, str] = {
    EventKind.PACKET_SENT: "The vantage sent a packet. Columns: space, packet_number, size_bytes.",
    EventKind.PACKET_RECEIVED: "The vantage received a packet. Columns: space, packet_number, size_bytes.",
    EventKind.PACKET_ACKED: "The peer's acknowledgement of a packet arrived. Columns: packet_number, space, "
    "size_bytes, acked_bytes. TCP has one row for each advance of the oldest "
    "unacknowledged byte: packet_number is that byte, size_bytes the advance.",
    EventKind.PACKET_LOST: "The sender declared a packet lost. Columns: name = reordering_threshold, "
    "time_threshold, pto, rto, fast_retransmit or null, space, packet_number, "
    "size_bytes. Stacks that only count have value = how many, and no number.",
    EventKind.PACKET_SPURIOUS: "A packet was declared lost, but received; time is when it was declared lost. "
    "Columns: name = link or peer, whose record proves it, packet_number, space, "
    "size_bytes. The value is s from the declaration to the delivery, negative if the "
    "packet had arrived before.",
    EventKind.PACKET_REFUSED: "A packet was declared lost, but delivered by the link, and its receiver gave no sign of "
    "it. Columns: as of packet_spurious, but name = peer (its own log lacks the packet) or acknowledgements (there is "
    "no such log, and no acknowledgement has it).",
    EventKind.PACKET_RETRANSMITTED: "TCP sent a segment again. Columns: packet_number, size_bytes.",
    EventKind.PACKET_DISCARDED: "A packet was received and discarded. Columns: name = trigger.",
    EventKind.METRICS: "The sender's own figures changed; the last known value of each is carried "
    "forward. Columns: as of metrics.",
    EventKind.CONGESTION_STATE: "The stack's congestion controller changed its state. Columns: name = our name of "
    "it, detail = its own.",
    EventKind.LOSS_TIMER: "The loss timer changed. Columns: name = set, expired or cancelled, detail = ack "
    "or pto, space, value = s from now if set.",
    EventKind.PTO: "A probe timeout fired (QUIC), or TCP's retransmission timeout (name = rto) or "
    "tail loss probe (name = tlp). The value is how many in a row.",
    EventKind.BLOCKED: "The sender ran into a limit. Columns: name = connection, stream, streams_bidi, "
    "streams_uni, receive_window or send_buffer, stream. The value is the limit in "
    "bytes or streams, detail = frame_sent, frame_received or state. After a row of the kernel's with "
    "detail = ended, the limit no longer holds.",
    EventKind.APP_LIMITED: "The stack or the kernel logged that the application gives too little to send. "
    "The value is 1 from now, 0 no longer.",
    EventKind.MILESTONE: "The connection passed a milestone. Names: started, handshake_keys, "
    "application_keys, complete, confirmed, early_data_accepted, early_data_rejected, "
    "retry, key_update, ecn_capable. Further names: mtu (value = bytes), closing, "
    "closed, idle_timeout; detail = reason.",
    EventKind.PARAMETERS: "Parameters were set. Columns: name = local, remote or recovery, detail = JSON "
    "object with sorted keys.",
    EventKind.STATE: "The sender entered a state of docs/reference/timeline.md#states. Columns: name = state, "
    "detail = the rule that found it, or the stack's own name. The source is derived "
    "for a rule, else the log's writer. A state is held until the next such row of "
    "the same flow and vantage, the last one until the connection ends.",
    EventKind.STREAM_DATA: "A part of a stream arrived in a packet. Columns: stream, packet_number, space, "
    "size_bytes. The value is the offset of its first byte in the stream.",
}
"""The meaning of each kind in sentences, with its columns beside time, vantage, source, kind, flow and priming."""

SOURCES: Mapping[str, str] = {
    "qlog": "a QUIC stack's own log",
    "tcp": "the kernel's records of its TCP",
    "netlog": "Chromium's log",
    "link": "the link's packet log, joined with one of the others",
    "derived": "a stated rule, from rows of the others",
}

METRIC_COLUMNS = (
    "cwnd_bytes",
    "ssthresh_bytes",
    "in_flight_bytes",
    "srtt_ns",
    "rttvar_ns",
    "min_rtt_ns",
    "latest_rtt_ns",
    "pacing_bps",
    "pto_count",
)
"""The columns of rows of kind `metrics`."""

EVENT_SCHEMA = pa.schema(
    [
        pa.field("time_ns", pa.int64(), nullable=False),  # since the trial's start; as decoded: since the reference
        pa.field("vantage", pa.dictionary(pa.int8(), pa.string()), nullable=False),
        pa.field("source", pa.dictionary(pa.int8(), pa.string()), nullable=False),
        pa.field("kind", pa.dictionary(pa.int8(), pa.string()), nullable=False),
        pa.field("priming", pa.bool_(), nullable=False),
        pa.field("flow", pa.dictionary(pa.int32(), pa.string())),  # as timeline.parquet names it
        pa.field("space", pa.dictionary(pa.int8(), pa.string())),
        pa.field("packet_number", pa.int64()),  # of TCP the sequence number, 32 bits
        pa.field("size_bytes", pa.int64()),  # QUIC packet or TCP payload
        pa.field("name", pa.dictionary(pa.int32(), pa.string())),
        pa.field("detail", pa.dictionary(pa.int32(), pa.string())),
        pa.field("stream", pa.int64()),
        pa.field("value", pa.float64()),
        pa.field("cwnd_bytes", pa.int64()),
        pa.field("ssthresh_bytes", pa.int64()),
        pa.field("in_flight_bytes", pa.int64()),
        pa.field("srtt_ns", pa.int64()),
        pa.field("rttvar_ns", pa.int64()),
        pa.field("min_rtt_ns", pa.int64()),
        pa.field("latest_rtt_ns", pa.int64()),
        pa.field("pacing_bps", pa.int64()),
        pa.field("pto_count", pa.int64()),
        pa.field("acked_bytes", pa.int64()),  # so far in this connection, as the sender counts
        pa.field("path", pa.int64()),  # of Multipath QUIC, if the trace names paths
    ]
)

LATER = frozenset({"path"})
"""Columns that events of earlier versions lack: they are read as null."""

_METADATA_KEY = b"longlook"
_ROW_GROUP_ROWS = 65_536


@dataclass(frozen=True)
class Events:
    """Rows in order of time. `table` has the columns of EVENT_SCHEMA; a column that a kind does not use is null."""

    table: pa.Table

    @property
    def metadata(self) -> Mapping[str, Any]:
        """`started_unix_ns`, and `sources`: for each trace the account of reading it and how it was aligned."""
        text = (self.table.schema.metadata or {}).get(_METADATA_KEY)
        return json.loads(text) if text else {}

    def with_metadata(self, metadata: Mapping[str, Any]) -> "Events":
        """Return the same rows with other metadata."""
        return Events(self.table.replace_schema_metadata({_METADATA_KEY: json.dumps(metadata, sort_keys=True)}))

    def select(
        self,
        kind: str | Sequence[str],
        vantage: str | None = None,
        flow: str | None = None,
        *,
        priming: bool | None = False,
    ) -> pa.Table:
        """Return rows of one or several kinds, optionally from one vantage and of one flow.

        Rows of priming connections are left out unless requested (`priming` True: only those; None: all).
        """
        kinds = [kind] if isinstance(kind, str) else list(kind)
        mask = among(self.table["kind"], kinds)
        if vantage is not None:
            mask = pc.and_(mask, among(self.table["vantage"], [vantage]))
        if flow is not None:
            mask = pc.and_(mask, among(self.table["flow"], [flow]))
        if priming is not None:
            mask = pc.and_(mask, pc.equal(self.table["priming"], priming))
        return self.table.filter(mask)

    def senders(self, *, priming: bool | None = False) -> list[tuple[str, str]]:
        """Return flow and vantage of each trace that is here, in the order of their first rows."""
        rows = self.table if priming is None else self.table.filter(pc.equal(self.table["priming"], priming))
        known = rows.filter(pc.is_valid(rows["flow"]))
        pairs = known.select(["flow", "vantage"]).unify_dictionaries().combine_chunks()
        found = pa.table({name: pairs[name].cast(pa.string()) for name in pairs.column_names})
        unique = found.group_by(["flow", "vantage"], use_threads=False).aggregate([])
        ends = ("client", "server")
        return [(row["flow"], row["vantage"]) for row in unique.to_pylist() if row["vantage"] in ends]

    def write(self, path: Path) -> None:
        """Save as Parquet."""
        pq.write_table(self.table, path, compression="zstd", compression_level=1, row_group_size=_ROW_GROUP_ROWS)

    @classmethod
    def read(cls, path: Path, columns: Sequence[str] | None = None) -> "Events":
        """Return saved events, or only some of their columns. Raise InputError if the file is not of this version."""
        wanted = EVENT_SCHEMA if columns is None else pa.schema([EVENT_SCHEMA.field(name) for name in columns])
        try:
            kept = pq.read_schema(files.regular(path)).names
            present = [name for name in wanted.names if name in kept or name not in LATER]
            table = pq.read_table(files.regular(path), columns=present)
            metadata = table.schema.metadata
            table = with_later_columns(table, wanted.names).select(wanted.names)
            return cls(table.cast(wanted).replace_schema_metadata(metadata))
        except (pa.ArrowInvalid, ValueError, KeyError) as error:
            raise _other_version(path, error) from error


def with_later_columns(table: pa.Table, names: Sequence[str] | None = None) -> pa.Table:
    """Return a table with null for every column of LATER that it lacks, or for the named columns alone."""
    for name in sorted(LATER if names is None else LATER & {*names}):
        if name not in table.column_names:
            field = EVENT_SCHEMA.field(name)
            table = table.append_column(field, pa.nulls(table.num_rows, field.type))
    return table


def metadata_of(path: Path) -> Mapping[str, Any]:
    """Return the metadata of saved events without reading them. Raise InputError if the file is not of this version."""
    try:
        schema = pq.read_schema(files.regular(path))
    except (pa.ArrowInvalid, ValueError) as error:
        raise _other_version(path, error) from error
    if missing := [name for name in EVENT_SCHEMA.names if name not in schema.names and name not in LATER]:
        raise _other_version(path, f"it has no column {missing[0]}")
    return Events(schema.empty_table()).metadata


def _other_version(path: Path, reason: object) -> InputError:
    return InputError(
        f"{path}: not the events of this version: {reason}", "normalise the run folder again: longlook report RUN"
    )


def among(column: pa.ChunkedArray, values: Sequence[str]) -> pa.ChunkedArray:
    """Return which rows of a column of texts hold one of some values, without decoding the column; null is False."""
    joined = column.unify_dictionaries().combine_chunks() if column.num_chunks != 1 else column.chunk(0)
    if not pa.types.is_dictionary(joined.type):
        return pc.is_in(joined, value_set=pa.array([str(value) for value in values], pa.string()))
    wanted = [index for index, text in enumerate(joined.dictionary.to_pylist()) if text in {*map(str, values)}]
    return pc.is_in(joined.indices, value_set=pa.array(wanted, joined.indices.type))
