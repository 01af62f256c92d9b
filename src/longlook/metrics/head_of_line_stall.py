"""How long objects waited for lost packets before data that had already arrived."""

from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from longlook.core import Better, Margin, Quantity, Vantage
from longlook.metrics import Metric
from longlook.timeline import EventKind, Kind, Timeline, among, overlap_ns, tcp_waits, waits

_REQUEST_STREAMS = 4
"""Every fourth stream of QUIC, from 0, is bidirectional and opened by the client (RFC 9000, 2.1): one for a request."""


def measure(timeline: Timeline) -> float | None:
    """Return the mean over objects in seconds; None without an object, its flow, or of QUIC the client's frames."""
    objects = _objects(timeline)
    total_ns = 0
    for flow in {flow for flow, _, _ in objects}:
        of_flow = [(begin, end) for each, begin, end in objects if each == flow]
        stalled_ns = None
        if flow is not None:
            tcp = flow.startswith("tcp ")
            stalled_ns = _behind_tcp(timeline, flow, of_flow) if tcp else _in_streams(timeline, flow)
        if stalled_ns is None:
            return None
        total_ns += stalled_ns
    return total_ns / 1e9 / len(objects) if objects else None


def _objects(timeline: Timeline) -> list[tuple[str | None, int, int]]:
    """Return the flow of every object that arrived, when it was asked for, and when its last byte arrived."""
    asked: dict[tuple[Any, Any], int] = {}
    for row in timeline.select(Kind.REQUEST_SENT).select(["flow", "name", "time_ns"]).to_pylist():
        asked.setdefault((row["flow"], row["name"]), row["time_ns"])
    done = timeline.select(Kind.OBJECT_DONE).select(["flow", "name", "time_ns"]).to_pylist()
    keys = [(row["flow"], row["name"]) for row in done]
    return [(row["flow"], asked[key], row["time_ns"]) for key, row in zip(keys, done, strict=True) if key in asked]


def _behind_tcp(timeline: Timeline, flow: str, objects: list[tuple[int, int]]) -> int | None:
    """Return the sum over objects of the time in which the connection's data lay behind a gap, while each was open."""
    packets = timeline.packets_in_load([Kind.PACKET_DELIVERED], "down")
    packets = packets.filter(pc.and_(among(packets["flow"], [flow]), pc.greater(packets["payload_bytes"], 0)))
    if not packets.num_rows or packets["transport_sequence"].null_count:
        return None
    packets = packets.sort_by("time_ns")
    found = tcp_waits(*(packets[name].to_numpy() for name in ("time_ns", "transport_sequence", "payload_bytes")))
    return sum(overlap_ns(found, begin, end) for begin, end in objects)


def _in_streams(timeline: Timeline, flow: str) -> int | None:
    """Return the sum over request streams of the time in which data of the stream lay behind a gap."""
    if timeline.events is None:
        return None
    rows = timeline.events.select(EventKind.STREAM_DATA, Vantage.CLIENT, flow)
    if not rows.num_rows:
        return None
    arrived = rows.select(["time_ns", "stream", "value", "size_bytes"]).sort_by("time_ns")
    return sum(_of_stream(arrived, stream) for stream in pc.unique(arrived["stream"]).to_pylist())


def _of_stream(arrived: pa.Table, stream: int) -> int:
    if stream % _REQUEST_STREAMS:
        return 0
    own = arrived.filter(pc.equal(arrived["stream"], stream))
    offsets = own["value"].to_numpy().astype(np.int64)
    found = waits(zip(own["time_ns"].to_pylist(), offsets.tolist(), own["size_bytes"].to_pylist(), strict=True))
    return sum(end - begin for begin, end in found)


METRIC = Metric(
    name="head_of_line_stall",
    label="Stall behind a missing packet",
    unit="s",
    better=Better.LOWER,
    quantity=Quantity.AMOUNT,
    margin=Margin(0.01, "less than a frame of a display with 60 Hz (16.7 ms)"),
    needs=(Kind.REQUEST_SENT, Kind.OBJECT_DONE, Kind.PACKET_DELIVERED, EventKind.STREAM_DATA),
    measure=measure,
    of_answers=True,
    summary="Time in which data had arrived at the client and could not be delivered, because an earlier byte was "
    "missing; the mean over the load's objects. Over QUIC that is a byte of the object's own stream, as the client's "
    "log has it (needs `[capture]` of qlog, by a client that logs frames, such as quic-go). "
    "Over TCP it is any byte of the connection while the object was open, from the sequence numbers at the link. "
    "Every open object counts there, as the objects that the data belongs to are encrypted. "
    "None if the client's log has no frames, or an object's connection is unknown.",
)
