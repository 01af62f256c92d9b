"""Metrics of a load that the client sends, on timelines written by hand: the sender is the client, its data goes up."""

from typing import Any

import pytest

from longlook.core.model import Vantage
from longlook.metrics import find_metric
from longlook.timeline.timeline import Timeline, table_of_rows


def row(kind: str, at_ms: int, vantage: str = "client", **columns: Any) -> dict[str, Any]:
    return {"time_ns": at_ms * 10**6, "vantage": vantage, "kind": kind, "priming": False, **columns}


def packet(kind: str, at_ms: int, direction: str) -> dict[str, Any]:
    return row(kind, at_ms, "link", direction=direction, size_bytes=1200, payload_bytes=1172, protocol="udp")


ROWS = (
    row("request_sent", 100, name="/upload.bin"),
    packet("packet_delivered", 200, "up"),
    packet("packet_dropped", 300, "up"),
    packet("packet_delivered", 400, "down"),
    row("upload_done", 1100, "server", name="/upload.bin", size_bytes=250_000, detail="POST"),
    row("object_done", 1200, name="/upload.bin", size_bytes=100),
)


def measured(metric: str, *rows: dict[str, Any], uploads: bool = True) -> float | None:
    timeline = Timeline(table_of_rows(rows)).with_metadata({"sender": Vantage.CLIENT} if uploads else {})
    return find_metric(metric).measure(timeline)


@pytest.mark.parametrize(
    ("metric", "value"),
    [("upload_time", 1.0), ("page_load_time", 1.1), ("throughput", 2.0), ("packet_loss", 50.0)],
)
def test_the_way_to_the_server_is_measured(metric: str, value: float) -> None:
    assert measured(metric, *ROWS) == pytest.approx(value)


def test_a_download_is_measured_the_other_way() -> None:
    assert measured("packet_loss", *ROWS, uploads=False) == 0
    assert measured("throughput", *ROWS, uploads=False) == pytest.approx(100 * 8e-6 / 1.1)


def test_there_is_no_upload_time_without_uploads_or_if_one_failed() -> None:
    assert measured("upload_time", ROWS[0], ROWS[-1]) is None
    assert measured("upload_time", *ROWS, row("object_failed", 1300, name="/b", detail="reset")) is None
