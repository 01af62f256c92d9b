"""Traces, and trials with theirs, in formats that other tools read (docs/reference/capture.md).

`export.convert` writes qlog, pcapng, HAR, plays of videos, Parquet or CSV, and `export.look` summarises a trace: the
command line calls both. The pipeline imports `har` for the archives of a whole run, the command line `plays` for scores
of P.1203.
"""

import json
import struct
import tempfile
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv
import pyarrow.parquet as pq

from longlook.core import InputError, ask_link, compressed_files, csv_cell, files
from longlook.timeline.decode import TraceVantage, decode_to
from longlook.timeline.events import EVENT_SCHEMA, metadata_of, with_later_columns
from longlook.timeline.export import har, plays, qlog
from longlook.timeline.export.netlog_har import netlog_har
from longlook.timeline.export.problems import problems_of
from longlook.timeline.normalise.trial import LINK_LOG

EVENTS = "events.parquet"
KEYS = "keys.log"
_CONNECTION = "connection"  # of a decoded trace: index into the connections of its account
_ACCOUNT = b"longlook"
_BATCH_ROWS = 16_384
_SECTION_HEADER, _DECRYPTION_SECRETS = 0x0A0D0D0A, 0x0000000A
_TLS_KEY_LOG = 0x544C534B
"""The type of a Decryption Secrets Block with secrets in the format of NSS's key log (draft-ietf-opsawg-pcapng)."""


_TRACE_OR_TRIAL = "name a trace, or the folder of a trial: RUN/trials/ID"


@dataclass(frozen=True)
class Written:
    """A file that was written, and the number of packets, events or rows in it."""

    path: Path
    count: int
    what: str
    problems: tuple[str, ...] = ()  # of reading what it was made of


@dataclass(frozen=True)
class _Source:
    """Events in a Parquet file of ours, read in batches however many they are, with further facts about them."""

    path: Path
    facts: qlog.Facts
    account: Mapping[str, Any]
    flows: pa.Array | None = None  # by connection, for rows from before their addresses were logged

    @property
    def rows(self) -> int:
        """Return the number of events."""
        return int(pq.read_metadata(self.path).num_rows)

    def batches(self, columns: Sequence[str] | None = None) -> Iterator[pa.Table]:
        """Yield the events in order, or only some of their columns."""
        with pq.ParquetFile(self.path) as file:
            for batch in file.iter_batches(_BATCH_ROWS, columns=columns):
                table = with_later_columns(pa.Table.from_batches([batch]), columns)
                yield table if self.flows is None or columns is not None else _with_flows(table, self.flows)


def convert(source: Path, to: str, out: Path, vantage: str | None = None) -> list[Written]:
    """Write a trace or a trial's folder as one of the formats of docs/reference/capture.md; return what was written.

    Raise InputError for other input, for a trace without rows, for a play of a trial without one, and if `out` cannot
    be written. A pcapng can be made of a trial or a packet log alone, a HAR of a trial with objects or a netlog of a
    page load.
    """
    if not out.absolute().parent.is_dir():
        raise InputError(f"--out {out}: no such folder", f"make it first: mkdir -p {out.absolute().parent}")
    if to == "pcapng":
        return [_pcapng(source, out)]
    if to == "har":
        return [_har(source, out)]
    if to == "play":
        return [Written(out, plays.write_table(plays.play_of(source), out), "changes")]
    if to == "p1203":
        return [Written(out, plays.write_p1203(plays.play_of(source), out), "segments")]
    with _read(source, vantage) as read:
        if read.rows == 0:
            raise InputError(
                f"{source}: no event in it becomes a row", f"longlook trace show {source} tells what it has"
            )
        problems = tuple(problems_of(read.account))
        if to == "qlog":
            return [replace(written, problems=problems) for written in _qlog(read, out)]
        if out.is_dir():
            raise InputError(f"--out {out}: is a folder", f"name a file: --out {out / f'events.{to}'}")
        return [replace(_csv(read, out) if to == "csv" else _parquet(read, out), problems=problems)]


def look(source: Path, vantage: str | None = None) -> dict[str, Any]:
    """Return a summary of a trace or of a trial's events: the account of reading it, and the number of rows of each
    kind.
    """
    counts: Counter[str] = Counter()
    with _read(source, vantage) as read:
        for batch in read.batches(["kind"]):
            found = pc.value_counts(batch["kind"].cast(pa.string())).to_pylist()
            counts.update({item["values"]: item["counts"] for item in found})
        return {"trace": str(source), "rows": read.rows, "kinds": dict(counts.most_common()), **read.account}


def _csv(read: _Source, out: Path) -> Written:
    plain = [field.with_type(pa.string()) if pa.types.is_dictionary(field.type) else field for field in EVENT_SCHEMA]
    if _CONNECTION in pq.read_schema(read.path).names:
        plain.append(pa.field(_CONNECTION, pa.int32()))
    schema = pa.schema(plain)
    with pyarrow.csv.CSVWriter(out, schema) as writer:
        for batch in read.batches():
            plain = batch.select(schema.names).cast(schema)
            texts = [name for name in schema.names if schema.field(name).type == pa.string()]
            for name in texts:
                at = schema.get_field_index(name)
                plain = plain.set_column(at, schema.field(name), _cells(plain[name]))
            writer.write_table(plain)
    return Written(out, read.rows, "events")


def _cells(texts: pa.ChunkedArray) -> pa.ChunkedArray:
    """Return texts as cells of a CSV file, each distinct one made once."""
    encoded = texts.combine_chunks().dictionary_encode()
    cells = pa.array(map(csv_cell, encoded.dictionary.to_pylist()), pa.string())
    return pa.chunked_array([cells.take(encoded.indices)])


def _parquet(read: _Source, out: Path) -> Written:
    schema = pq.read_schema(read.path)
    account = (pq.read_metadata(read.path).metadata or {}).get(_ACCOUNT)
    if account is not None:
        schema = schema.with_metadata({_ACCOUNT: account})
    with pq.ParquetWriter(out, schema, compression="zstd") as writer:
        for batch in read.batches():
            writer.write_table(batch.select(schema.names).cast(schema))
    return Written(out, read.rows, "events")


def _pcapng(source: Path, out: Path) -> Written:
    log = source / LINK_LOG if source.is_dir() else source
    if not log.is_file():
        raise InputError(f"{source}: has no packet log {LINK_LOG}", "name the folder of a trial: RUN/trials/ID")
    keys = log.with_name(KEYS)
    packets = write_pcapng(log, keys if keys.is_file() else None, out)
    return Written(out, packets, "packets" + (", with the connections' TLS secrets" if keys.is_file() else ""))


def _har(source: Path, out: Path) -> Written:
    if not source.is_dir():
        return _har_of_netlog(source, out)
    made = har.trial_har(source)
    if made is None:
        raise InputError(f"{source}: its clients reported no object", "name a trial of a page load or a download")
    return Written(out, har.write(made, out), "requests")


def _har_of_netlog(source: Path, out: Path) -> Written:
    with named_trace(source) as trace, tempfile.TemporaryDirectory(prefix="longlook-trace-") as folder:
        requests = Path(folder) / "requests.jsonl"
        hint = "name the folder of a trial: RUN/trials/ID, or a netlog; --to csv has a trace's rows"
        try:
            account = decode_to(trace, "client", Path(folder) / EVENTS, requests)
        except InputError as error:
            raise InputError(f"{source}: has no page load to make a HAR of: {error.message}", hint) from error
        if account.get("format") != "netlog":
            raise InputError(f"{source}: has no page load to make a HAR of: it is no trial and no netlog", hint)
        made = netlog_har(requests, str(source), account.get("producer"))
    written = har.write(made.har, out)
    return Written(out, written, "requests", (*made.problems, *problems_of(account)))


def _qlog(read: _Source, out: Path) -> list[Written]:
    traces = qlog.traces(read.batches(), read.facts)
    if len(traces) == 1 and not out.is_dir():
        places = {traces[0]: out}
    else:
        if out.is_file():
            raise InputError(f"--out {out}: is a file, and there are {len(traces)} connections", "name a folder")
        out.mkdir(exist_ok=True)
        places, names = {}, set[str]()
        for number, trace in enumerate(traces):
            name = trace.name if trace.name not in names else f"{number}-{trace.name}"
            names.add(name)
            places[trace] = out / name
    qlog.write(read.batches(), places)
    return [Written(path, trace.count, "events") for trace, path in places.items()]


@contextmanager
def _read(source: Path, vantage: str | None) -> Iterator[_Source]:
    if vantage not in (None, "client", "server"):
        raise InputError(f"--vantage {vantage}: no such end", "write client or server")
    if source.is_dir():
        yield _of_trial(source)
        return
    end: TraceVantage | None = "client" if vantage == "client" else "server" if vantage == "server" else None
    with named_trace(source) as trace, tempfile.TemporaryDirectory(prefix="longlook-trace-") as folder:
        decoded = Path(folder) / EVENTS
        account = decode_to(trace, end, decoded)
        yield _of_trace(decoded, account)


@contextmanager
def named_trace(source: Path, hint: str = _TRACE_OR_TRIAL) -> Iterator[Path]:
    """Yield the file of a trace that the user names, of standard input a copy. Raise InputError if there is none."""
    with compressed_files.as_file(source) as trace:
        if not trace.is_file():
            raise InputError(f"{source}: no such file", hint)
        files.open_named(trace).close()
        yield trace


def _of_trial(folder: Path) -> _Source:
    path = folder / EVENTS
    if not path.is_file():
        raise InputError(
            f"{folder}: has no {EVENTS}",
            "run the study with [capture] qlog = true or tcp = true, or write its events again: longlook report RUN",
        )
    metadata = metadata_of(path)

    def facts(end: str, flow: str | None) -> Mapping[str, Any]:
        if flow is None:
            return {}
        return {"reference_unix_ns": metadata.get("started_unix_ns"), "producer": _producer(metadata, end)}

    return _Source(path, facts, {"format": "events of a trial", **metadata})


def _producer(metadata: Mapping[str, Any], end: str) -> str | None:
    """Return the program that wrote the traces of one end, if it is one program."""
    named = {
        source["producer"]
        for name, source in metadata.get("sources", {}).items()
        if f"/{end}/" in name and source.get("producer")
    }
    return named.pop() if len(named) == 1 else None


def _of_trace(decoded: Path, account: Mapping[str, Any]) -> _Source:
    """Return the events of a single trace; rows get the flow of their connection."""
    connections = account.get("connections", [])
    names = [_flow(connection, account, several=len(connections) > 1) for connection in connections]
    shared = {name: account.get(name) for name in ("producer", "reference_unix_ns")}
    ids = {name: connection.get("connection_id") for name, connection in zip(names, connections, strict=True)}

    def facts(_end: str, flow: str | None) -> Mapping[str, Any]:
        return {**shared, "connection_id": ids[flow]} if flow in ids else {}

    return _Source(decoded, facts, account, pa.array(names, pa.string()) if any(names) else None)


def _with_flows(table: pa.Table, flows: pa.Array) -> pa.Table:
    known = pa.chunked_array([flows.take(table["connection"].combine_chunks())])
    flow = pc.coalesce(table["flow"].cast(pa.string()), known)
    return table.set_column(table.column_names.index("flow"), EVENT_SCHEMA.field("flow"), _encoded(flow))


def _flow(connection: Mapping[str, Any], account: Mapping[str, Any], *, several: bool) -> str | None:
    if connection.get("client") and connection.get("server"):
        protocol = "tcp" if account.get("format") == "tcp" else "udp"
        return f"{protocol} {connection['client']} {connection['server']}"
    return str(connection.get("connection_id") or "unknown") if several else None


def _encoded(column: pa.ChunkedArray) -> pa.ChunkedArray:
    return column.cast(pa.string()).dictionary_encode().cast(EVENT_SCHEMA.field("flow").type)


def write_pcapng(log: Path, keys: Path | None, out: Path) -> int:
    """Write a capture file of a packet log and return its number of packets. Raise InputError if it is not a log."""
    answer = json.loads(ask_link("pcapng", str(log), str(out)).splitlines()[-1])
    if keys is not None and (secrets := files.read_bytes(keys)):
        capture = out.read_bytes()
        kind, length_bytes = struct.unpack_from("<II", capture)
        if kind != _SECTION_HEADER:
            raise InputError(f"{out}: the capture does not begin with a section", "build again: make build")
        # Secrets stand before the packets that they open.
        out.write_bytes(capture[:length_bytes] + _secrets_block(secrets) + capture[length_bytes:])
    return int(answer["packets"])


def _secrets_block(secrets: bytes) -> bytes:
    padding = b"\0" * (-len(secrets) % 4)
    total_bytes = 20 + len(secrets) + len(padding)
    front = struct.pack("<IIII", _DECRYPTION_SECRETS, total_bytes, _TLS_KEY_LOG, len(secrets))
    return front + secrets + padding + struct.pack("<I", total_bytes)
