"""Traces of endpoints → recordings, by `longlook-trace decode`, in memory that does not grow beyond a bound."""

import json
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from longlook.core import InputError
from longlook.explain import Integers, Steps, are, integers
from longlook.instruments.transfer.recording import (
    APPLICATION,
    HANDSHAKE,
    INITIAL,
    UNKNOWN,
    Blocked,
    Figures,
    Moment,
    Packets,
    Recording,
    StreamParts,
)
from longlook.timeline import (
    EventKind,
    columns_of,
    decode_to,
    kinds_of,
    named_trace,
    problems_of,
    values_in_doubt,
)

MOST_ROWS = 6_000_000
"""Rows that are kept of one connection: about 400 MB."""
End = Literal["client", "server"]
_SPACES = {"initial": INITIAL, "handshake": HANDSHAKE}
_COLUMNS = (
    *("time_ns", "kind", "space", "packet_number", "size_bytes", "name", "detail", "stream", "value"),
    *("cwnd_bytes", "in_flight_bytes", "srtt_ns", "latest_rtt_ns", "min_rtt_ns", "pacing_bps"),
)
_FIGURES = {
    "cwnd_bytes": "cwnd_bytes",
    "in_flight_bytes": "in_flight_bytes",
    "smoothed_rtt_ns": "srtt_ns",
    "latest_rtt_ns": "latest_rtt_ns",
    "min_rtt_ns": "min_rtt_ns",
    "pacing_bps": "pacing_bps",
}
_CAPTURE = "capture"
_UNSURE = "unsure"  # of an acknowledgement in a capture, which may be for another copy
_BY_PEER = ("frame_received", "filled by the peer")
_UNUSED = (EventKind.LOSS_TIMER, EventKind.APP_LIMITED, EventKind.STATE)


def read_trace(path: Path, vantage: End | None, connection: int | None, keys: Path | None = None) -> Recording:
    """Return what a trace of one end has of one connection: of the busiest one if none is named.

    Raise InputError for a file that is no trace, for a trace without packets, and for a connection that it lacks.
    """
    with (
        named_trace(path, "name a trace of one end: a qlog, a netlog or a capture") as trace,
        tempfile.TemporaryDirectory(prefix="longlook-transfer-") as folder,
    ):
        decoded = Path(folder) / "events.parquet"
        account = decode_to(trace, vantage, decoded, keys=keys)
        chosen = _connection(decoded, account, connection, path)
        table, path_note, left_out = _rows(decoded, chosen, account)
    problems = [*problems_of(account), *path_note]
    if left_out:
        problems.append(f"too long: the first {MOST_ROWS:,} rows are explained, {left_out:,} are not")
    if connection is None and (others := _others(account, chosen)):
        problems.append(f"it has {others + 1} connections: this is number {chosen}; --connection N explains another")
    found = _recording(path, table, account, chosen, problems)
    if vantage is not None and found.end != vantage:
        unused = f"it names its end, the {found.end}'s: --vantage {vantage} is for a trace that names none"
        return replace(found, problems=(*found.problems, unused))
    return found


def _others(account: Mapping[str, Any], chosen: int) -> int:
    """Return how many other connections have rows."""
    return sum(number != chosen and each.get("rows", 0) > 0 for number, each in enumerate(account["connections"]))


def _connection(decoded: Path, account: Mapping[str, Any], wanted: int | None, path: Path) -> int:
    connections = account.get("connections", [])
    if wanted is not None:
        if not 0 <= wanted < len(connections):
            raise InputError(
                f"--connection {wanted}: {path} has {len(connections)} connections",
                f"longlook trace show {path} numbers them from 0",
            )
        return wanted
    sums = np.zeros(max(1, len(connections)), np.int64)
    with pq.ParquetFile(decoded) as file:
        for batch in file.iter_batches(columns=["connection", "kind", "size_bytes"]):
            table = pa.Table.from_batches([batch])
            packet = are(table["kind"], EventKind.PACKET_SENT, EventKind.PACKET_RECEIVED)
            sizes = np.maximum(integers(table["size_bytes"], 1), 1)
            np.add.at(sums, integers(table["connection"])[packet], sizes[packet])
    return int(np.argmax(sums))


def _rows(decoded: Path, connection: int, account: Mapping[str, Any]) -> tuple[pa.Table, list[str], int]:
    """Return the rows of a connection, of its busiest path, at most MOST_ROWS; what is said of paths; rows left out."""
    doubted = values_in_doubt(account, connection)
    unused = [*_UNUSED, *kinds_of(doubted)]
    tables: list[pa.Table] = []
    kept = left_out = 0
    with pq.ParquetFile(decoded) as file:
        columns = [*_COLUMNS, "connection", "path"]
        for batch in file.iter_batches(65_536, columns=[name for name in columns if name in file.schema_arrow.names]):
            table = pa.Table.from_batches([batch])
            own = pc.and_(pc.equal(table["connection"], connection), pa.chunked_array([~are(table["kind"], *unused)]))
            table = table.filter(own)
            room = MOST_ROWS - kept
            left_out += max(0, table.num_rows - room)
            tables.append(table.slice(0, max(0, room)))
            kept += tables[-1].num_rows
    table = pa.concat_tables(tables).unify_dictionaries()
    for column in columns_of(doubted) & {*table.column_names}:
        place = table.column_names.index(column)
        table = table.set_column(place, column, pa.nulls(table.num_rows, table.schema.field(column).type))
    return (*_busiest_path(table), left_out)


def _busiest_path(table: pa.Table) -> tuple[pa.Table, list[str]]:
    if "path" not in table.column_names:
        return table, []
    counts = pc.value_counts(table["path"].drop_null()).to_pylist()
    if len(counts) < 2:
        return table, []
    busiest = max(counts, key=lambda item: item["counts"])["values"]
    own = pc.or_kleene(pc.is_null(table["path"]), pc.equal(table["path"], busiest))
    said = f"it has {len(counts)} paths: path {busiest}, which has the most events, is explained alone"
    return table.filter(own), [said]


def _recording(
    path: Path, table: pa.Table, account: Mapping[str, Any], connection: int, problems: Sequence[str]
) -> Recording:
    if account.get("unordered"):
        table = table.take(np.argsort(integers(table["time_ns"]), kind="stable"))
    sent, received = (_packets(_of(table, kind)) for kind in (EventKind.PACKET_SENT, EventKind.PACKET_RECEIVED))
    if not len(sent) + len(received):
        logs = "; log packet_sent and packet_received" if account.get("format") != "tcp" else ""
        raise InputError(
            f"{path} has no packets of this connection, so that nobody can say what its time went to",
            f"longlook trace show {path} says what it has{logs}",
        )
    begin_ns = min(int(each.time_ns[0]) for each in (sent, received) if len(each))
    lost_rows = _of(table, EventKind.PACKET_LOST)
    numbered = integers(lost_rows["packet_number"], UNKNOWN) != UNKNOWN
    counted = lost_rows.filter(pa.array(~numbered))
    lost_rows = lost_rows.filter(pa.array(numbered))
    metrics = _of(table, EventKind.METRICS)
    figures = {ours: _steps(metrics, column, begin_ns) for ours, column in _FIGURES.items()}
    parts = _of(table, EventKind.STREAM_DATA)
    connections = account.get("connections", [])
    about = connections[connection] if connection < len(connections) else {}
    end = about.get("vantage", account.get("vantage"))
    acked_rows = _of(table, EventKind.PACKET_ACKED)
    return Recording(
        name=str(path),
        format=str(account.get("format")),
        protocol=str(about.get("protocol") or "QUIC"),
        end=str(end) if end in ("client", "server") else "unknown",
        producer=str(account.get("producer") or "an unknown program"),
        begin_ns=begin_ns,
        sent=_since(sent, begin_ns),
        received=_since(received, begin_ns),
        acked=_since(_packets(acked_rows), begin_ns),
        unsure=are(acked_rows["detail"], _UNSURE),
        lost=_since(_packets(lost_rows), begin_ns),
        triggers=[str(name or "") for name in lost_rows["name"].cast(pa.string()).to_pylist()],
        figures=Figures(**figures),
        blocked=_blocked(_of(table, EventKind.BLOCKED), begin_ns),
        timers=_moments(_of(table, EventKind.PTO), begin_ns, "value"),
        milestones=_moments(_of(table, EventKind.MILESTONE), begin_ns, "detail"),
        states=_moments(_of(table, EventKind.CONGESTION_STATE), begin_ns, "detail"),
        discarded=_moments(_of(table, EventKind.PACKET_DISCARDED), begin_ns, "detail"),
        streams=StreamParts(
            integers(parts["time_ns"]) - begin_ns,
            integers(parts["stream"], UNKNOWN),
            np.nan_to_num(parts["value"].to_numpy(), nan=0).astype(np.int64),
            integers(parts["size_bytes"]),
        ),
        parameters=_parameters(_of(table, EventKind.PARAMETERS)),
        counted_losses=int(np.nan_to_num(counted["value"].to_numpy(), nan=1).sum()),
        problems=tuple(problems),
        notes=tuple(about.get("notes", ())),
        frames=_frames(table) if account.get("format") == _CAPTURE else None,
        handshake_seen=bool(((sent.space == INITIAL).any()) or (received.space == INITIAL).any()),
    )


def _of(table: pa.Table, kind: EventKind) -> pa.Table:
    return table.filter(pa.array(are(table["kind"], kind)))


def _packets(rows: pa.Table) -> Packets:
    spaces = rows["space"].unify_dictionaries().combine_chunks()
    texts = spaces.dictionary.to_pylist()
    known = np.array([_SPACES.get(text, APPLICATION) for text in texts] + [APPLICATION], np.int64)
    return Packets(
        integers(rows["time_ns"]),
        integers(rows["packet_number"], UNKNOWN),
        known[spaces.indices.fill_null(len(texts)).to_numpy(zero_copy_only=False)],
        integers(rows["size_bytes"], UNKNOWN),
    )


def _frames(table: pa.Table) -> tuple[Integers, Integers]:
    """Return the numbers of the packets with data of the busier direction, and the frame of the file of each."""
    sides = [_of(table, kind) for kind in (EventKind.PACKET_SENT, EventKind.PACKET_RECEIVED)]
    rows = max(sides, key=lambda side: integers(side["size_bytes"]).sum())
    packets = _packets(rows)
    chosen = (packets.number != UNKNOWN) & (packets.space == APPLICATION)
    numbers = packets.number[chosen]
    order = np.argsort(numbers, kind="stable")
    frames = np.nan_to_num(rows["value"].to_numpy(), nan=0).astype(np.int64)[chosen]
    return numbers[order], frames[order]


def _since(packets: Packets, begin_ns: int) -> Packets:
    return Packets(packets.time_ns - begin_ns, packets.number, packets.space, packets.size_bytes)


def _steps(metrics: pa.Table, column: str, begin_ns: int) -> Steps:
    known = metrics.filter(pc.is_valid(metrics[column]))
    values: Integers = integers(known[column])
    return Steps(integers(known["time_ns"]) - begin_ns, values)


def _moments(rows: pa.Table, begin_ns: int, detail: str) -> list[Moment]:
    times, names = integers(rows["time_ns"]), rows["name"].cast(pa.string()).to_pylist()
    details = rows[detail].cast(pa.string()).to_pylist()
    return [
        Moment(int(at) - begin_ns, str(name or ""), str(more or ""))
        for at, name, more in zip(times.tolist(), names, details, strict=True)
    ]


def _blocked(rows: pa.Table, begin_ns: int) -> list[Blocked]:
    items = rows.select(["time_ns", "name", "value", "detail"]).to_pylist()
    return [
        Blocked(
            item["time_ns"] - begin_ns,
            str(item["name"]),
            float("nan") if item["value"] is None else float(item["value"]),
            item["detail"] in _BY_PEER,
        )
        for item in items
        if item["detail"] != "ended"
    ]


def _parameters(rows: pa.Table) -> Mapping[str, Mapping[str, Any]]:
    found: dict[str, Mapping[str, Any]] = {}
    for name, detail in zip(
        rows["name"].cast(pa.string()).to_pylist(), rows["detail"].cast(pa.string()).to_pylist(), strict=True
    ):
        try:
            value = json.loads(detail or "{}")
        except ValueError:
            continue
        if isinstance(value, dict):
            found[str(name)] = {**found.get(str(name), {}), **value}
    return found
