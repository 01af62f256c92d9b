"""The load time of urgent objects, on timelines written by hand."""

from typing import Any

import pytest

from longlook.metrics import find_metric
from longlook.timeline.timeline import Timeline, table_of_rows


def row(kind: str, at_ms: int, path: str, **columns: Any) -> dict[str, Any]:
    return {"time_ns": at_ms * 10**6, "vantage": "client", "kind": kind, "priming": False, "name": path, **columns}


ASKED = [
    row("request_sent", 100, "/index.html"),
    row("request_sent", 150, "/large", detail="u=5, i"),
    row("request_sent", 150, "/style", detail="u=0"),
    row("request_sent", 150, "/script", detail="u=2"),
]
LARGE = row("object_done", 900, "/large")
URGENT = [row("object_done", 300, "/style"), row("object_done", 400, "/script")]


def measured(*rows: dict[str, Any]) -> float | None:
    ordered = sorted(rows, key=lambda each: int(each["time_ns"]))
    return find_metric("urgent_load_time").measure(Timeline(table_of_rows(ordered)))


def test_it_ends_with_the_last_urgent_object() -> None:
    assert measured(*ASKED, *URGENT, LARGE) == pytest.approx(0.3)


def test_it_is_missing_without_urgent_objects_or_if_one_did_not_arrive() -> None:
    assert measured(*ASKED[:2], LARGE) is None
    assert measured(*ASKED, *URGENT[:1], LARGE) is None
