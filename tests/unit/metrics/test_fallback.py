"""What carried a load whose client could choose, on timelines written by hand."""

from typing import Any

import pytest

from longlook.metrics import find_metric
from longlook.timeline.timeline import Timeline, table_of_rows

QUIC, TCP, OTHER = "udp 10.8.0.1:4 10.8.0.2:443", "tcp 10.8.0.1:5 10.8.0.2:443", "tcp 10.8.0.1:6 10.8.0.2:443"
PROTOCOLS = {QUIC: "h3", TCP: "h2", OTHER: "h2"}


def secure(at_s: float, flow: str, vantage: str = "client") -> dict[str, Any]:
    return {"time_ns": round(at_s * 1e9), "vantage": vantage, "kind": "handshake_done", "flow": flow, "priming": False}


def done(at_s: float, flow: str) -> list[dict[str, Any]]:
    common = {"vantage": "client", "flow": flow, "priming": False, "protocol": PROTOCOLS[flow], "name": "/a"}
    return [
        {"time_ns": 10**9, "kind": "request_sent", **common},
        {"time_ns": round(at_s * 1e9), "kind": "object_done", "size_bytes": 10, **common},
    ]


def measured(metric: str, *rows: dict[str, Any]) -> float | None:
    ordered = sorted(rows, key=lambda row: int(row["time_ns"]))
    return find_metric(metric).measure(Timeline(table_of_rows(ordered)))


def test_the_share_is_of_objects() -> None:
    assert measured("quic_share", *done(2, QUIC)) == 100
    assert measured("quic_share", *done(2, TCP)) == 0
    assert measured("quic_share", *done(2, QUIC), *done(3, TCP), *done(4, TCP)) == pytest.approx(100 / 3)
    assert measured("quic_share") is None


def test_the_fallback_is_there_when_the_connection_that_carried_something_is() -> None:
    assert measured("fallback_time", secure(1.5, TCP), *done(2, TCP)) == pytest.approx(0.5)
    assert measured("fallback_time", secure(1.2, OTHER), secure(1.5, TCP), *done(2, TCP)) == pytest.approx(0.5)
    assert measured("fallback_time", secure(1.2, TCP, "server"), secure(1.5, TCP), *done(2, TCP)) == pytest.approx(0.5)


def test_there_is_none_where_quic_carried_everything() -> None:
    assert measured("fallback_time", secure(1.2, QUIC), *done(2, QUIC)) is None
    assert measured("fallback_time", secure(1.2, QUIC), secure(1.3, TCP), *done(2, QUIC)) is None
    assert measured("fallback_time", *done(2, TCP)) is None
