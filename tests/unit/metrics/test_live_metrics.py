"""Metrics of a live source, on timelines written by hand."""

from typing import Any

import pytest

from longlook.metrics import find_metric
from longlook.timeline.timeline import Timeline, table_of_rows


def row(kind: str, at_ms: float, **columns: Any) -> dict[str, Any]:
    return {"time_ns": round(at_ms * 10**6), "vantage": "client", "kind": kind, "priming": False, **columns}


def came(frame: int, latency_ms: float) -> dict[str, Any]:
    return row("frame_arrived", 40 * frame + latency_ms, sequence=frame, value=latency_ms / 1e3)


def missed(frame: int) -> dict[str, Any]:
    return row("frame_missed", 40 * frame, sequence=frame)


def measured(metric: str, *rows: dict[str, Any]) -> float | None:
    timeline = Timeline(table_of_rows(rows)).with_metadata({"live": {"deadline_ns": 300 * 10**6}})
    return find_metric(metric).measure(timeline)


FRAMES = [came(0, 50.0), came(1, 60.0), came(2, 300.0), came(3, 301.0), missed(4)]


@pytest.mark.parametrize(
    ("metric", "value"),
    [
        ("frame_latency", 0.06),
        ("frame_latency_p99", 0.301),
        ("late_frames", 20.0),
        ("dropped_frames", 20.0),
        ("overdue_frames", 40.0),
        ("frames", 5.0),
    ],
)
def test_late_and_dropped_frames_are_shares_of_all(metric: str, value: float) -> None:
    assert measured(metric, *FRAMES) == pytest.approx(value)


def test_the_99th_of_a_hundred_frames_is_a_frame() -> None:
    frames = [came(number, number + 1.0) for number in range(100)]
    assert measured("frame_latency_p99", *frames) == pytest.approx(0.099)
    assert measured("frame_latency", *frames) == pytest.approx(0.05)


def test_frames_that_were_never_whole_have_no_latency_and_are_not_zero() -> None:
    assert measured("frame_latency", missed(0), missed(1)) is None
    assert measured("dropped_frames", missed(0), missed(1)) == 100
    assert measured("late_frames", missed(0), missed(1)) == 0


def test_the_senders_share_is_of_all_that_it_produced() -> None:
    fates = [row("frames_handled", 1, name=name, value=value) for name, value in (("sent", 6.0), ("reset", 1.0))]
    assert measured("dropped_at_sender", *fates, row("frames_handled", 1, name="dropped", value=3.0)) == 40


@pytest.mark.parametrize("metric", ["frame_latency", "late_frames", "dropped_frames", "dropped_at_sender", "frames"])
def test_without_a_live_source_nothing_is_measured(metric: str) -> None:
    assert measured(metric, row("request_sent", 1, name="/a")) is None
