"""The size of packets that a server settles on, and when, on a timeline written by hand."""

from typing import Any

import pytest

from longlook.metrics import find_metric
from longlook.timeline.timeline import Timeline, table_of_rows

FLOW = "udp 10.8.0.1:4 10.8.0.2:443"


def measured(metric: str, *packets: tuple[float, str, str, int]) -> float | None:
    common = {"flow": FLOW, "priming": False}
    load = [
        {"time_ns": 10**9, "vantage": "client", "kind": "request_sent", "name": "/a", **common},
        {"time_ns": 3 * 10**9, "vantage": "client", "kind": "object_done", "name": "/a", **common},
    ]
    rows: list[dict[str, Any]] = [
        {"time_ns": round(at_s * 1e9), "vantage": "link", "kind": kind, "direction": way, "size_bytes": size, **common}
        for at_s, kind, way, size in packets
    ]
    ordered = sorted([*load, *rows], key=lambda row: int(row["time_ns"]))
    return find_metric(metric).measure(Timeline(table_of_rows(ordered)))


PACKETS = (
    (0.5, "packet_delivered", "down", 1500),  # before the load
    (1.1, "packet_delivered", "down", 1228),
    (1.3, "packet_dropped", "down", 1452),
    (1.4, "packet_delivered", "up", 1480),
    (1.5, "packet_delivered", "down", 1400),
    (1.6, "packet_delivered", "down", 1400),
)


def test_what_reaches_the_client_in_the_load_counts() -> None:
    assert measured("largest_packet", *PACKETS) == 1400
    assert measured("largest_packet_time", *PACKETS) == pytest.approx(0.5)


def test_there_is_none_where_nothing_reached_it() -> None:
    assert measured("largest_packet", PACKETS[2]) is None
    assert measured("largest_packet_time", PACKETS[2]) is None
