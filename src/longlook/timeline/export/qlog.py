"""Events as qlog files (draft-ietf-quic-qlog-main-schema-14, JSON text sequences), also those of the kernel's TCP."""

import json
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from longlook.timeline.export.qlog_rows import COLUMNS, OWN, event, milliseconds

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
"""What distinguishes the traces of a table: vantage, flow, and whether it is priming."""
Facts = Callable[[str, str | None], Mapping[str, Any]]
"""For a vantage and a flow what the table lacks: `connection_id`, `producer`, `reference_unix_ns`; each may be missing.
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
        """Return a name for the file that differs from those of the other traces of most trials."""
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
