"""Events as qlog files (draft-ietf-quic-qlog-main-schema-14, JSON text sequences), also those of the kernel's TCP."""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from longlook.timeline.events import among
from longlook.timeline.export.qlog_rows import COLUMNS, OWN, event, milliseconds

FILE_SCHEMA = "urn:ietf:params:qlog:file:sequential"
EVENT_SCHEMAS = ("urn:ietf:params:qlog:events:quic-13", "urn:longlook:qlog:events:1")
"""The event schemas that are used. Until they are RFCs, a schema's name carries its draft's number. The second is
ours.
"""
SERIALIZATION = "application/qlog+json-seq"

_BATCH_ROWS = 65_536
_RECORD = "\x1e"


@dataclass(frozen=True)
class Trace:
    """The content of one qlog file: rows of one end of one connection, and facts that hold for all of them."""

    rows: pa.Table  # columns of `events.EVENT_SCHEMA`, in order of time
    vantage: str
    flow: str | None
    priming: bool
    connection_id: str | None
    producer: str | None
    reference_unix_ns: int | None  # of time 0; None if it is unknown

    @property
    def name(self) -> str:
        """Return a name for the file that differs from those of the other traces of a trial."""
        parts = [self.vantage, *(self.flow or self.connection_id or "unknown").split()]
        kept = "".join(char if char.isalnum() or char in "-." else "-" for char in "-".join(parts[:3]))
        return f"{kept}{'-priming' * self.priming}.sqlog"


def split(table: pa.Table, facts: Mapping[tuple[str, str | None], Mapping[str, Any]]) -> list[Trace]:
    """Return the traces of a table of events, in order of their first rows.

    `facts` has for each vantage and flow what the table lacks: `connection_id`, `producer`, `reference_unix_ns`, each
    of which may be missing.
    """
    keys = pa.table({name: _plain(table[name]) for name in ("vantage", "flow", "priming")})
    unique = keys.group_by(keys.column_names, use_threads=False).aggregate([]).to_pylist()
    return [_trace(table, keys, key, facts.get((key["vantage"], key["flow"]), {})) for key in unique]


def _trace(table: pa.Table, keys: pa.Table, key: Mapping[str, Any], known: Mapping[str, Any]) -> Trace:
    mask = pc.equal(keys["priming"], key["priming"])
    mask = pc.and_(mask, pc.equal(keys["vantage"], key["vantage"]))
    mask = pc.and_(mask, pc.is_null(keys["flow"]) if key["flow"] is None else among(keys["flow"], [key["flow"]]))
    return Trace(
        rows=table.filter(mask),
        vantage=key["vantage"],
        flow=key["flow"],
        priming=key["priming"],
        connection_id=known.get("connection_id"),
        producer=known.get("producer"),
        reference_unix_ns=known.get("reference_unix_ns"),
    )


def write(trace: Trace, path: Path) -> int:
    """Write a trace to a file and return its number of events."""
    with path.open("w", encoding="utf-8", newline="\n") as file:
        file.write(f"{_RECORD}{_compact(header(trace))}\n")
        for line in _lines(trace):
            file.write(f"{_RECORD}{line}\n")
    return int(trace.rows.num_rows)


def header(trace: Trace) -> dict[str, Any]:
    """Return the first record of the file."""
    common: dict[str, Any] = {"time_format": "relative_to_epoch", "reference_time": _reference(trace)}
    if trace.connection_id is not None:
        common["group_id"] = trace.connection_id
    common[OWN] = {"source": _usual_source(trace), "priming": trace.priming}
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


def _usual_source(trace: Trace) -> str | None:
    counts = pc.value_counts(_plain(trace.rows["source"])).to_pylist()
    return max(counts, key=lambda item: item["counts"])["values"] if counts else None


def _lines(trace: Trace) -> Iterator[str]:
    usual = _usual_source(trace)
    wanted = [name for name in ("time_ns", "source", "kind", *COLUMNS) if name in trace.rows.column_names]
    for batch in trace.rows.select(wanted).to_batches(max_chunksize=_BATCH_ROWS):
        columns = {name: _plain(batch.column(name)).to_pylist() for name in wanted}
        for values in zip(*columns.values(), strict=True):
            row = dict(zip(columns, values, strict=True))
            name, data = event(row)
            source = "" if row["source"] == usual else f',"{OWN}_source":{json.dumps(row["source"])}'
            yield f'{{"time":{milliseconds(row["time_ns"])},"name":"{name}","data":{data}{source}}}'


def _plain(column: Any) -> Any:
    return column.cast(pa.string()) if pa.types.is_dictionary(column.type) else column


def _compact(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))
