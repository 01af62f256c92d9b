"""Recordings written by hand: a sender's trace as qlog, and what is asked of it."""

import json
from collections.abc import Sequence
from pathlib import Path

from longlook.explain import causes as known_causes
from longlook.instruments.transfer.answer import TransferAnswer, explain_one
from longlook.instruments.transfer.classes import TimeClass
from longlook.instruments.transfer.reading import read_trace

PACKET_BYTES = 1250
Event = tuple[float, str, dict[str, object]]


def sent(at_ms: float, number: int, size: int = PACKET_BYTES) -> Event:
    return (
        at_ms,
        "quic:packet_sent",
        {"header": {"packet_type": "1RTT", "packet_number": number}, "raw": {"length": size}},
    )


def acknowledgement(at_ms: float, number: int, first: int, last: int) -> Event:
    frame = {"frame_type": "ack", "acked_ranges": [[first, last]]}
    header = {"packet_type": "1RTT", "packet_number": number}
    return at_ms, "quic:packet_received", {"header": header, "raw": {"length": 40}, "frames": [frame]}


def arrived(at_ms: float, number: int, stream: int = 0, offset: int = 0, size: int = PACKET_BYTES) -> Event:
    frame = {"frame_type": "stream", "stream_id": stream, "offset": offset, "length": size - 50}
    header = {"packet_type": "1RTT", "packet_number": number}
    return at_ms, "quic:packet_received", {"header": header, "raw": {"length": size}, "frames": [frame]}


def lost(at_ms: float, number: int) -> Event:
    return at_ms, "quic:packet_lost", {"header": {"packet_type": "1RTT", "packet_number": number}}


def metrics(at_ms: float, **values: float) -> Event:
    return at_ms, "quic:recovery_metrics_updated", values


def blocked(at_ms: float, limit: int) -> Event:
    frame = {"frame_type": "data_blocked", "limit": limit}
    header = {"packet_type": "1RTT", "packet_number": 900_000}
    return at_ms, "quic:packet_sent", {"header": header, "raw": {"length": 45}, "frames": [frame]}


def written(path: Path, events: Sequence[Event], end: str = "server") -> Path:
    """Write events as lines of qlog, in order of time."""
    trace = {"vantage_point": {"type": end}, "common_fields": {"time_format": "relative_to_epoch"}}
    head = {"file_schema": "urn:ietf:params:qlog:file:sequential", "serialization_format": "application/qlog+json-seq"}
    lines = [{**head, "title": "by hand", "trace": trace}]
    lines += [{"time": at, "name": name, "data": data} for at, name, data in sorted(events, key=lambda event: event[0])]
    path.write_text("".join(f"\x1e{json.dumps(line)}\n" for line in lines))
    return path


def explained(path: Path, events: Sequence[Event], end: str = "server") -> TransferAnswer:
    return explain_one(read_trace(written(path, events, end), None, None))


def flights(rtt_ms: float, window: int, count: int, start_ms: float = 0) -> list[Event]:
    """`count` flights of `window` packets, each sent when the one before it is acknowledged; no handshake."""
    events = [metrics(start_ms, congestion_window=window * PACKET_BYTES, smoothed_rtt=rtt_ms)]
    for flight in range(count):
        at = start_ms + flight * (rtt_ms + 0.01)
        first, last = flight * window, (flight + 1) * window - 1
        events += [sent(at + 0.001 * place, first + place) for place in range(window)]
        events.append(acknowledgement(at + rtt_ms, flight, first, last))
    return events


def share(answer: TransferAnswer, *names: TimeClass) -> float:
    return answer.intervals.spent_ns(*names) / answer.intervals.total_ns


def causes(answer: TransferAnswer) -> list[str]:
    """The names of suspected causes, which are all of the registry."""
    found = [each.cause for each in answer.suspicions]
    assert {*found} <= {*known_causes()}
    return found
