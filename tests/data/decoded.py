"""Traces written by hand, and what the real decoder makes of them."""

import gzip
import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from longlook.timeline.decode import Account, TraceVantage, decode_trace

FIXTURES = Path(__file__).parents[1] / "fixtures"
QLOGS = FIXTURES / "qlogs"
NETLOGS = FIXTURES / "netlogs"

HEADER = {
    "qlog_version": "0.3",
    "qlog_format": "JSON-SEQ",
    "title": "test",
    "trace": {"vantage_point": {"type": "server"}},
}


def event(time: Any, name: str, **data: Any) -> dict[str, Any]:
    return {"time": time, "name": name, "data": data}


def packet(time: Any, way: str, number: int, *frames: Any, kind: str = "1RTT", length: int = 1200) -> dict[str, Any]:
    header = {"packet_type": kind, "packet_number": number}
    return event(time, f"transport:packet_{way}", header=header, raw={"length": length}, frames=list(frames))


def acked(*ranges: Any) -> dict[str, Any]:
    return {"frame_type": "ack", "acked_ranges": list(ranges)}


def sequence(*events: Any, header: Any = None) -> bytes:
    """A JSON text sequence."""
    return b"".join(b"\x1e" + json.dumps(each).encode() + b"\n" for each in (header or HEADER, *events))


def lines(*events: Any, header: Any = None) -> bytes:
    """The same as lines."""
    return b"".join(json.dumps(each).encode() + b"\n" for each in (header or HEADER, *events))


def document(*traces: Any, **members: Any) -> bytes:
    """One JSON text."""
    return json.dumps({"qlog_version": "0.3", **members, "traces": list(traces)}).encode()


def decode_bytes(folder: Path, content: bytes, vantage: TraceVantage = "server") -> tuple[pa.Table, Account]:
    path = folder / "trace.qlog"
    path.write_bytes(content)
    return decode_trace(path, vantage)


def rows(table: pa.Table, kind: str, *columns: str) -> list[Any]:
    """The kind's rows as tuples of these columns; of one column, its values."""
    chosen = table.filter(pc.equal(table.column("kind"), kind))
    values = [chosen.column(name).to_pylist() for name in columns]
    return values[0] if len(columns) == 1 else list(zip(*values, strict=True))


def unpacked(path: Path) -> bytes:
    return gzip.decompress(path.read_bytes())
