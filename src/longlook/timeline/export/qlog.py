"""Events as qlog files (JSON text sequences), events of the kernel's TCP too.

The drafts are draft-ietf-quic-qlog-main-schema-14 and -quic-events-13. An event has the draft's name if the meaning is
the same, else a name of our own schema. Keys that begin with `longlook_` hold everything that the draft has no field
for, so that reading a file back gives the rows that it was made of. Readers may ignore these keys.
docs/reference/capture.md has the table.
"""

import json
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from longlook.timeline.events import METRIC_COLUMNS, EventKind

OWN = "longlook"
"""The category of events that the drafts have no name for, and the prefix of such fields."""

Row = Mapping[str, Any]
Member = tuple[str, str]  # key and JSON text; without a key, members as they were logged

_PACKET_TYPES = {
    "initial": "initial",
    "handshake": "handshake",
    "0rtt": "0RTT",
    "1rtt": "1RTT",
    "retry": "retry",
    "version_negotiation": "version_negotiation",
    None: "unknown",
}
_NUMBER_SPACES = {"initial": "initial", "handshake": "handshake", "1rtt": "application_data"}
_LOSS_TRIGGERS = {"pto": "pto_expired"}
_CONNECTION_STATES = {
    "complete": "handshake_complete",
    "confirmed": "handshake_confirmed",
    "closing": "closing",
    "closed": "closed",
}
_METRICS: Mapping[str, tuple[str, int]] = {  # column → the draft's field, and the power of ten from its unit to ours
    "cwnd_bytes": ("congestion_window", 0),
    "ssthresh_bytes": ("ssthresh", 0),
    "in_flight_bytes": ("bytes_in_flight", 0),
    "srtt_ns": ("smoothed_rtt", 6),
    "rttvar_ns": ("rtt_variance", 6),
    "min_rtt_ns": ("min_rtt", 6),
    "latest_rtt_ns": ("latest_rtt", 6),
    "pacing_bps": ("pacing_rate", 0),
    "pto_count": ("pto_count", 0),
}
COLUMNS = (
    "space",
    "packet_number",
    "size_bytes",
    "name",
    "detail",
    "stream",
    "value",
    *METRIC_COLUMNS,
    "acked_bytes",
    "path",
)
"""The columns of a row beside its time, vantage, source, kind, flow and priming."""


def event(row: Row) -> tuple[str, str]:
    """Return name and data (JSON) of the qlog event of a row, whose keys are COLUMNS and `kind`."""
    form = _FORMS.get(row["kind"])
    made = form(row) if form else None
    if made is None:
        return f"{OWN}:{row['kind']}", _object([(name, _json(row[name])) for name in COLUMNS if row[name] is not None])
    name, members, used = made
    rest = [(f"{OWN}_{name}", _json(row[name])) for name in COLUMNS if row[name] is not None and name not in used]
    return f"quic:{name}", _object([*members, *rest])


def milliseconds(time_ns: int) -> str:
    """Return nanoseconds as milliseconds, with every digit."""
    sign, (whole, rest) = "-" * (time_ns < 0), divmod(abs(time_ns), 1_000_000)
    return f"{sign}{whole}.{rest:06d}".rstrip("0").rstrip(".") if rest else f"{sign}{whole}"


_Made = tuple[str, list[Member], tuple[str, ...]]  # name, members, the columns that these say


def _packet(name: str) -> Callable[[Row], _Made]:
    def made(row: Row) -> _Made:
        return name, [_header(row), *_raw(row)], ("space", "packet_number", "size_bytes")

    return made


def _acked(row: Row) -> _Made | None:
    # Of TCP a byte is acknowledged, not a packet; 0-RTT packets have no word of their own for their space.
    if row["space"] not in _NUMBER_SPACES or row["packet_number"] is None:
        return None
    space = _json(_NUMBER_SPACES[row["space"]])
    members = [("packet_number_space", space), ("packet_numbers", f"[{row['packet_number']}]")]
    return "packets_acked", members, ("space", "packet_number")


def _lost(row: Row) -> _Made | None:
    if row["packet_number"] is None:
        return None
    trigger = [] if row["name"] is None else [("trigger", _json(_LOSS_TRIGGERS.get(row["name"], row["name"])))]
    return "packet_lost", [_header(row), *_raw(row), *trigger], ("space", "packet_number", "size_bytes", "name")


def _discarded(row: Row) -> _Made:
    trigger = [] if row["name"] is None else [("trigger", _json(row["name"]))]
    return (
        "packet_dropped",
        [_header(row), *_raw(row), *trigger],
        ("space", "packet_number", "size_bytes", "name"),
    )


def _metrics(row: Row) -> _Made | None:
    logged = [(column, *_METRICS[column]) for column in METRIC_COLUMNS if row[column] is not None]
    if not logged:
        return None
    members = [(field, milliseconds(row[column]) if power else str(row[column])) for column, field, power in logged]
    return "recovery_metrics_updated", members, METRIC_COLUMNS


def _congestion_state(row: Row) -> _Made | None:
    if row["name"] is not None:
        return "congestion_state_updated", [("new", _json(row["name"]))], ("name",)
    return None


def _timer(row: Row) -> _Made | None:
    if row["space"] not in (None, *_NUMBER_SPACES) or row["name"] is None:
        return None
    members = [("event_type", _json(row["name"]))]
    if row["detail"] is not None:
        members.append(("timer_type", _json(row["detail"])))
    if row["space"] is not None:
        members.append(("packet_number_space", _json(_NUMBER_SPACES[row["space"]])))
    if row["value"] is not None:
        members.append(("delta", _in_milliseconds(row["value"])))
    return "timer_updated", members, ("name", "detail", "space", "value")


def _blocked(row: Row) -> _Made | None:
    blocked = ("new", '"blocked"')
    if row["name"] == "connection":
        return "connection_data_blocked_updated", [blocked, ("reason", '"connection_flow_control"')], ("name",)
    if row["name"] == "stream" and row["stream"] is not None:
        members = [blocked, ("stream_id", str(row["stream"])), ("reason", '"stream_flow_control"')]
        return "stream_data_blocked_updated", members, ("name", "stream")
    return None


def _milestone(row: Row) -> _Made | None:
    if row["name"] in _CONNECTION_STATES:
        return "connection_state_updated", [("new", _json(_CONNECTION_STATES[row["name"]]))], ("name",)
    if row["name"] == "mtu" and row["value"] is not None and row["value"].is_integer():
        return "mtu_updated", [("new", str(int(row["value"])))], ("name", "value")
    return None


def _parameters(row: Row) -> _Made | None:
    """Return parameters as they were logged, member for member; ours alone if the logged ones are not all of the
    row.
    """
    if any(row[name] is not None for name in COLUMNS if name not in ("name", "detail")):
        return None
    try:
        known = json.loads(row["detail"] or "")
    except ValueError:
        return None
    if not isinstance(known, dict) or "initiator" in known:
        return None
    members: list[Member] = [] if not known else [("", row["detail"].strip()[1:-1])]
    if row["name"] == "recovery":
        return "recovery_parameters_set", members, ("name", "detail")
    if row["name"] in ("local", "remote"):
        return "parameters_set", [("initiator", _json(row["name"])), *members], ("name", "detail")
    return None


_FORMS: Mapping[str, Callable[[Row], _Made | None]] = {
    EventKind.PACKET_SENT: _packet("packet_sent"),
    EventKind.PACKET_RECEIVED: _packet("packet_received"),
    EventKind.PACKET_ACKED: _acked,
    EventKind.PACKET_LOST: _lost,
    EventKind.PACKET_DISCARDED: _discarded,
    EventKind.METRICS: _metrics,
    EventKind.CONGESTION_STATE: _congestion_state,
    EventKind.LOSS_TIMER: _timer,
    EventKind.BLOCKED: _blocked,
    EventKind.MILESTONE: _milestone,
    EventKind.PARAMETERS: _parameters,
}


def _header(row: Row) -> Member:
    number = "" if row["packet_number"] is None else f',"packet_number":{row["packet_number"]}'
    return "header", f'{{"packet_type":"{_PACKET_TYPES[row["space"]]}"{number}}}'


def _raw(row: Row) -> list[Member]:
    return [] if row["size_bytes"] is None else [("raw", f'{{"length":{row["size_bytes"]}}}')]


def _in_milliseconds(value_s: float) -> str:
    """Return seconds as milliseconds: the shortest text of this number, with its point moved."""
    return format((Decimal(repr(value_s)) * 1000).normalize(), "f")


def _json(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"), allow_nan=False)


def _object(members: list[Member]) -> str:
    return "{" + ",".join(f'"{key}":{text}' if key else text for key, text in members) + "}"


FILE_SCHEMA = "urn:ietf:params:qlog:file:sequential"
EVENT_SCHEMAS = ("urn:ietf:params:qlog:events:quic-13", "urn:longlook:qlog:events:1")
"""The event schemas that are used. Until they are RFCs, a schema's name carries its draft's number. The second is
ours.
"""
SERIALIZATION = "application/qlog+json-seq"

_KEY = ("vantage", "flow", "priming")
_LONGEST_NAME = 100
_RECORD = "\x1e"


Key = tuple[str, str | None, bool]
"""The key of a trace within a table: vantage, flow, and whether it is priming."""
Facts = Callable[[str, str | None], Mapping[str, Any]]
"""Returns, for a vantage and a flow, the facts that the table lacks: `connection_id`, `producer`, `reference_unix_ns`;
each may be missing.
"""


@dataclass(frozen=True)
class Trace:
    """One qlog file: one end of one connection, with facts that hold for all of its rows."""

    vantage: str
    flow: str | None
    priming: bool
    connection_id: str | None
    producer: str | None
    reference_unix_ns: int | None  # of time 0; None if it is unknown
    source: str  # that most of its rows have
    count: int  # of its rows

    @property
    def name(self) -> str:
        """Return a file name that is unique among the traces of most trials."""
        parts = [self.vantage, *(self.flow or self.connection_id or "unknown").split()]
        kept = "".join(char if char.isalnum() or char in "-." else "-" for char in "-".join(parts[:3]))
        return f"{kept[:_LONGEST_NAME]}{'-priming' * self.priming}.sqlog"


def traces(batches: Iterable[pa.Table], facts: Facts) -> list[Trace]:
    """Return the traces that batches of events consist of, in order of their first rows."""
    sources: dict[Key, Counter[str]] = {}
    for batch in batches:
        for key, rows in _parts(batch):
            found = pc.value_counts(_plain(rows["source"])).to_pylist()
            sources.setdefault(key, Counter()).update({each["values"]: each["counts"] for each in found})
    return [_trace(key, counts, facts(*key[:2])) for key, counts in sources.items()]


def _trace(key: Key, sources: Counter[str], known: Mapping[str, Any]) -> Trace:
    return Trace(
        *key,
        connection_id=known.get("connection_id"),
        producer=known.get("producer"),
        reference_unix_ns=known.get("reference_unix_ns"),
        source=sources.most_common(1)[0][0],
        count=sources.total(),
    )


def write(batches: Iterable[pa.Table], places: Mapping[Trace, Path]) -> None:
    """Write batches of events to files, one for each of their `traces`."""
    by_key: dict[Key, tuple[Trace, Path]] = {}
    for trace, path in places.items():
        by_key[trace.vantage, trace.flow, trace.priming] = trace, path
        path.write_text(f"{_RECORD}{_compact(header(trace))}\n", encoding="utf-8", newline="\n")
    for batch in batches:
        for key, rows in _parts(batch):
            trace, path = by_key[key]
            with path.open("a", encoding="utf-8", newline="\n") as file:
                file.writelines(f"{_RECORD}{line}\n" for line in _lines(rows, trace.source))


def _parts(batch: pa.Table) -> Iterator[tuple[Key, pa.Table]]:
    """Yield the rows of each trace in a batch, in order of their first rows."""
    plain = pa.table({name: _plain(batch[name]) for name in ("vantage", "flow", "priming")})
    codes = [plain[name].combine_chunks().dictionary_encode().indices.fill_null(-1).to_numpy() for name in _KEY]
    _, first, part = np.unique(np.stack(codes), axis=1, return_index=True, return_inverse=True)
    order = np.argsort(part.reshape(-1), kind="stable")
    ends = np.cumsum(np.bincount(part.reshape(-1), minlength=len(first)))
    for index in np.argsort(first).tolist():
        row = {name: plain[name][int(first[index])].as_py() for name in _KEY}
        chosen = order[ends[index - 1] if index else 0 : ends[index]]
        yield (row["vantage"], row["flow"], row["priming"]), batch if len(first) == 1 else batch.take(chosen)


def header(trace: Trace) -> dict[str, Any]:
    """Return the first record of the file."""
    common: dict[str, Any] = {"time_format": "relative_to_epoch", "reference_time": _reference(trace)}
    if trace.connection_id is not None:
        common["group_id"] = trace.connection_id
    common[OWN] = {"source": trace.source, "priming": trace.priming}
    if trace.flow is not None:
        common[OWN]["flow"] = trace.flow
    kind = trace.vantage if trace.vantage in ("client", "server") else "network"
    return {
        "file_schema": FILE_SCHEMA,
        "serialization_format": SERIALIZATION,
        "title": trace.producer or OWN,
        "trace": {
            "event_schemas": list(EVENT_SCHEMAS),
            "vantage_point": {"type": kind},
            "common_fields": common,
        },
    }


def _reference(trace: Trace) -> dict[str, str]:
    if trace.reference_unix_ns is None:
        return {"clock_type": "monotonic", "epoch": "unknown"}
    seconds, rest_ns = divmod(trace.reference_unix_ns, 1_000_000_000)
    moment = datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%dT%H:%M:%S")
    return {"clock_type": "system", "epoch": f"{moment}.{rest_ns:09d}Z"}


def _lines(rows: pa.Table, usual: str) -> Iterator[str]:
    wanted = [name for name in ("time_ns", "source", "kind", *COLUMNS) if name in rows.column_names]
    columns = {name: _plain(rows[name]).to_pylist() for name in wanted}
    for values in zip(*columns.values(), strict=True):
        row = dict(zip(columns, values, strict=True))
        name, data = event(row)
        source = "" if row["source"] == usual else f',"{OWN}_source":{json.dumps(row["source"])}'
        yield f'{{"time":{milliseconds(row["time_ns"])},"name":"{name}","data":{data}{source}}}'


def _plain(column: Any) -> Any:
    return column.cast(pa.string()) if pa.types.is_dictionary(column.type) else column


def _compact(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))
