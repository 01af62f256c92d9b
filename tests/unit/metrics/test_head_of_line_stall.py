"""The stall of objects behind missing packets, on packets and frames written by hand."""

from typing import Any

import pytest

from longlook.metrics import find_metric
from longlook.timeline.timeline import Timeline, table_of_rows
from tests.data.events import events_of, row
from tests.data.link_rows import MS, crossed

TCP, QUIC = "tcp 10.8.0.1:4 10.8.0.2:443", "udp 10.8.0.1:4 10.8.0.2:443"
ORDER_OF_ARRIVAL = [(100, 0), (110, 2000), (120, 3000), (160, 1000), (300, 4000), (310, 6000), (400, 5000)]
"""Milliseconds and offsets of packets of 1000 bytes: there are gaps from 110 to 160 and from 310 to 400 ms."""


def objects(flow: str | None, *times_ms: tuple[int, int]) -> list[dict[str, Any]]:
    found = []
    for number, (asked, done) in enumerate(times_ms):
        common = {"vantage": "client", "flow": flow, "priming": False, "name": f"/{number}"}
        found += [{"time_ns": asked * MS, "kind": "request_sent", **common}]
        found += [{"time_ns": done * MS, "kind": "object_done", **common}]
    return found


def over_tcp(*times_ms: tuple[int, int], flow: str | None = TCP) -> Timeline:
    own = {"protocol": "tcp", "payload_bytes": 1000}
    packets = [
        crossed("down", at - 20, at, TCP) | own | {"transport_sequence": (2**32 - 1500 + offset) % 2**32}
        for at, offset in ORDER_OF_ARRIVAL
    ]
    bare = crossed("down", 105, 125, TCP) | {"protocol": "tcp", "payload_bytes": 0, "transport_sequence": 999}
    rows = sorted([*packets, bare, *objects(flow, *times_ms)], key=lambda each: each["time_ns"])
    return Timeline(table_of_rows(rows))


def over_quic(*streams: int, flow: str = QUIC) -> Timeline:
    frames = [
        row(at * MS, "stream_data", vantage="client", flow=QUIC, stream=stream, value=float(offset), size_bytes=1000)
        for stream, (at, offset) in zip(streams, ORDER_OF_ARRIVAL, strict=True)
    ]
    return Timeline(table_of_rows(objects(flow, (0, 400), (0, 410)))).with_events(events_of(*frames))


def stall(timeline: Timeline) -> float | None:
    return find_metric("head_of_line_stall").measure(timeline)


def test_a_gap_of_tcp_stalls_every_object_that_is_open() -> None:
    assert stall(over_tcp((0, 500))) == pytest.approx(0.140)
    assert stall(over_tcp((0, 500), (0, 130))) == pytest.approx((0.140 + 0.020) / 2)
    assert stall(over_tcp((0, 500), (420, 450))) == pytest.approx(0.140 / 2)


def test_a_gap_of_quic_stalls_its_own_stream_alone() -> None:
    assert stall(over_quic(0, 0, 0, 0, 0, 0, 0)) == pytest.approx(0.140 / 2)
    # Offsets 0, 2000 and 1000 of stream 0; the rest of stream 4 misses its beginning until the end.
    assert stall(over_quic(0, 0, 4, 0, 4, 4, 4)) == pytest.approx((0.050 + 0.280) / 2)


def test_streams_that_carry_no_request_do_not_count() -> None:
    assert stall(over_quic(3, 3, 3, 3, 7, 7, 7)) == 0


def test_without_frames_or_a_known_connection_there_is_no_value() -> None:
    assert stall(Timeline(table_of_rows(objects(QUIC, (0, 400))))) is None
    assert stall(over_quic(0, 0, 0, 0, 0, 0, 0, flow="udp 10.8.0.1:5 10.8.0.2:443")) is None
    assert stall(over_tcp((0, 500), flow=None)) is None
    assert stall(Timeline(table_of_rows(objects(TCP, (0, 400))))) is None
    assert stall(Timeline(table_of_rows([]))) is None
