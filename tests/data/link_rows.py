"""Timelines with packets of the link written by hand for tests."""

from typing import Any

from longlook.timeline.timeline import Timeline, table_of_rows

MS = 1_000_000
FLOW = "udp a b"


def crossed(
    direction: str, arrival_ms: float, departure_ms: float, flow: str = FLOW, *, priming: bool = False
) -> dict[str, Any]:
    """A packet that the link delivered."""
    times = {"arrival_ns": round(arrival_ms * MS), "time_ns": round(departure_ms * MS)}
    common = {"vantage": "link", "kind": "packet_delivered", "protocol": "udp", "priming": priming}
    return {**common, **times, "direction": direction, "flow": flow}


def dropped(arrival_ms: float, flow: str = FLOW, direction: str = "down") -> dict[str, Any]:
    """A packet that the link dropped."""
    lost = {"kind": "packet_dropped", "name": "loss"}
    return {**crossed(direction, arrival_ms, arrival_ms, flow), **lost}


def load_with(*packets: dict[str, Any], end_ms: float = 1000) -> Timeline:
    """A load of one object from 0 to `end_ms` with these packets."""
    common = {"vantage": "client", "flow": FLOW, "priming": False, "name": "/"}
    request = {"time_ns": 0, "kind": "request_sent", **common}
    done = {"time_ns": round(end_ms * MS), "kind": "object_done", **common}
    return Timeline(table_of_rows([request, *packets, done]))
