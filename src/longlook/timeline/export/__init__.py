"""Traces, and trials with theirs, in formats that other tools read (docs/exports.md).

`export.convert` writes qlog, pcapng, HAR, Parquet or CSV, and `export.look` summarises a trace: the command line calls
both. The pipeline imports `har` for the archives of a whole run.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv
import pyarrow.parquet as pq

from longlook.core.errors import InputError
from longlook.timeline.decode import TraceVantage, decode_trace
from longlook.timeline.events import EVENT_SCHEMA, Events
from longlook.timeline.export import har, pcapng, qlog
from longlook.timeline.normalise.trial import LINK_LOG

EVENTS = "events.parquet"
KEYS = "keys.log"


@dataclass(frozen=True)
class Written:
    """A file that was written, and the number of packets, events or rows in it."""

    path: Path
    count: int
    what: str


@dataclass(frozen=True)
class _Source:
    """Events, with further facts about each of their vantages and flows."""

    table: pa.Table
    facts: Mapping[tuple[str, str | None], Mapping[str, Any]]
    account: Mapping[str, Any]


def convert(source: Path, to: str, out: Path, vantage: str | None = None) -> list[Written]:
    """Write a trace or a trial's folder as `qlog`, `pcapng`, `har`, `parquet` or `csv`; return what was written.

    Raise InputError for other input, for a pcapng of anything but a trial or a packet log, for a HAR of anything but a
    trial with objects, and if `out` cannot be written.
    """
    if not out.absolute().parent.is_dir():
        raise InputError(f"--out {out}: no such folder", f"make it first: mkdir -p {out.absolute().parent}")
    if to == "pcapng":
        return [_pcapng(source, out)]
    if to == "har":
        return [_har(source, out)]
    read = _read(source, vantage)
    if to == "qlog":
        return _qlog(read, out)
    if out.is_dir():
        raise InputError(f"--out {out}: is a folder", f"name a file: --out {out / f'events.{to}'}")
    if to == "csv":
        plain = [
            field.with_type(pa.string()) if pa.types.is_dictionary(field.type) else field for field in EVENT_SCHEMA
        ]
        pyarrow.csv.write_csv(read.table.select(EVENT_SCHEMA.names).cast(pa.schema(plain)), out)
    else:
        pq.write_table(read.table, out, compression="zstd")
    return [Written(out, read.table.num_rows, "events")]


def look(source: Path, vantage: str | None = None) -> dict[str, Any]:
    """Return a summary of a trace or of a trial's events: the account of reading it, and the number of rows of each
    kind.
    """
    read = _read(source, vantage)
    counts = pc.value_counts(read.table["kind"].cast(pa.string())).to_pylist()
    kinds = {item["values"]: item["counts"] for item in sorted(counts, key=lambda item: -item["counts"])}
    return {"trace": str(source), "rows": read.table.num_rows, "kinds": kinds, **read.account}


def _pcapng(source: Path, out: Path) -> Written:
    log = source / LINK_LOG if source.is_dir() else source
    if not log.is_file():
        raise InputError(f"{source}: has no packet log {LINK_LOG}", "name the folder of a trial: RUN/trials/ID")
    keys = log.with_name(KEYS)
    packets = pcapng.write(log, keys if keys.is_file() else None, out)
    return Written(out, packets, "packets" + (", with the connections' TLS secrets" if keys.is_file() else ""))


def _har(source: Path, out: Path) -> Written:
    if not source.is_dir():
        raise InputError(f"{source}: is no folder of a trial", "a HAR is of a page load: name RUN/trials/ID")
    made = har.trial_har(source)
    if made is None:
        raise InputError(f"{source}: its clients reported no object", "name a trial of a page load or a download")
    return Written(out, har.write(made, out), "requests")


def _qlog(read: _Source, out: Path) -> list[Written]:
    traces = qlog.split(read.table, read.facts)
    if len(traces) <= 1 and not out.is_dir():
        return [Written(out, qlog.write(trace, out), "events") for trace in traces]
    if out.is_file():
        raise InputError(f"--out {out}: is a file, and there are {len(traces)} connections", "name a folder")
    out.mkdir(exist_ok=True)
    return [Written(out / trace.name, qlog.write(trace, out / trace.name), "events") for trace in traces]


def _read(source: Path, vantage: str | None) -> _Source:
    if vantage not in (None, "client", "server"):
        raise InputError(f"--vantage {vantage}: no such end", "write client or server")
    if source.is_dir():
        return _of_trial(source)
    if not source.is_file():
        raise InputError(f"{source}: no such file", "name a trace, or the folder of a trial: RUN/trials/ID")
    end: TraceVantage | None = "client" if vantage == "client" else "server" if vantage == "server" else None
    return _of_trace(*decode_trace(source, end))


def _of_trial(folder: Path) -> _Source:
    path = folder / EVENTS
    if not path.is_file():
        raise InputError(
            f"{folder}: has no {EVENTS}",
            "run the study with [capture] qlog = true or tcp = true, or write its events again: longlook report RUN",
        )
    events = Events.read(path)
    metadata = events.metadata
    facts: dict[tuple[str, str | None], dict[str, Any]] = {}
    for flow, end in events.senders(priming=None):
        facts[end, flow] = {"reference_unix_ns": metadata.get("started_unix_ns"), "producer": _producer(metadata, end)}
    return _Source(events.table, facts, {"format": "events of a trial", **metadata})


def _producer(metadata: Mapping[str, Any], end: str) -> str | None:
    """Return the program that wrote the traces of one end, if it is one program."""
    named = {
        source["producer"]
        for name, source in metadata.get("sources", {}).items()
        if f"/{end}/" in name and source.get("producer")
    }
    return named.pop() if len(named) == 1 else None


def _of_trace(table: pa.Table, account: Mapping[str, Any]) -> _Source:
    """Return the events of a single trace.

    Rows get the flow of their connection, including rows from before its addresses were logged.
    """
    connections = account.get("connections", [])
    names = [_flow(connection, account, several=len(connections) > 1) for connection in connections]
    if any(names):
        numbers = table["connection"].combine_chunks().cast(pa.int32())
        known = pa.DictionaryArray.from_arrays(numbers, pa.array(names, pa.string())).cast(pa.string())
        flow = pc.coalesce(table["flow"].cast(pa.string()), pa.chunked_array([known]))
        table = table.set_column(table.column_names.index("flow"), EVENT_SCHEMA.field("flow"), _encoded(flow))
    shared = {name: account.get(name) for name in ("producer", "reference_unix_ns")}
    facts = {
        (end, name): {**shared, "connection_id": connection.get("connection_id")}
        for name, connection in zip(names, connections, strict=True)
        for end in table["vantage"].cast(pa.string()).unique().to_pylist()
    }
    return _Source(table, facts, account)


def _flow(connection: Mapping[str, Any], account: Mapping[str, Any], *, several: bool) -> str | None:
    if connection.get("client") and connection.get("server"):
        protocol = "tcp" if account.get("format") == "tcp" else "udp"
        return f"{protocol} {connection['client']} {connection['server']}"
    return str(connection.get("connection_id") or "unknown") if several else None


def _encoded(column: pa.ChunkedArray) -> pa.ChunkedArray:
    return column.cast(pa.string()).dictionary_encode().cast(EVENT_SCHEMA.field("flow").type)
