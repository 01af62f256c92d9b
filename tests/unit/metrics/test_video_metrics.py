"""What the viewer of a video saw, on a play written by hand."""

from typing import Any

import pytest

from longlook.metrics import find_metric
from longlook.timeline.normalise.tables import table_of_rows
from longlook.timeline.timeline import Timeline

VIDEO = {
    "quality": "throughput",
    "length_s": 60.0,
    "segment_s": 4.0,
    "rungs": [{"name": "low", "bitrate_bps": 1_000_000}, {"name": "high", "bitrate_bps": 3_000_000}],
}
METRICS = (
    *("time_to_start", "stalls", "stall_time", "stall_share", "stall_rate", "video_loaded", "video_bitrate"),
    *("final_rung", "rung_switches", "best_rung_share", "video_qoe"),
)


def row(at_s: float, kind: str, **columns: Any) -> dict[str, Any]:
    return {"time_ns": round(at_s * 1e9), "vantage": "client", "kind": kind, "priming": False, **columns}


def segment(number: int, rung: str, asked_s: float, arrived_s: float | None) -> list[dict[str, Any]]:
    found = [row(asked_s, "segment_requested", name=rung, sequence=number)]
    if arrived_s is not None:
        found.append(row(arrived_s, "segment_arrived", name=rung, sequence=number, size_bytes=500, value=4.0))
    return found


def play(at_s: float, state: str, position_s: float) -> dict[str, Any]:
    return row(at_s, "playback", name=state, value=position_s)


def timeline(*rows: dict[str, Any], video: dict[str, Any] | None = None) -> Timeline:
    ordered = sorted(rows, key=lambda one: int(one["time_ns"]))
    return Timeline(table_of_rows(ordered)).with_metadata({"video": VIDEO if video is None else video})


# The first segment is there after 2 s; it is over at 6 s and the second comes at 8 s; the third at 9 s, the fourth is
# under way when the viewer has seen 4 + 4 + 2 s at 18 s.
PLAYED = timeline(
    row(0, "request_sent", name="/video/manifest.json"),
    *segment(0, "low", 1, 2),
    play(2, "started", 0),
    *segment(1, "high", 2, 8),
    play(6, "stalled", 4),
    play(8, "resumed", 4),
    *segment(2, "high", 8, 9),
    *segment(3, "low", 9, None),
    play(14, "ended", 10),
)


@pytest.mark.parametrize(
    ("metric", "expected"),
    [
        ("time_to_start", 2),
        ("stalls", 1),
        ("stall_time", 2),
        ("stall_share", 100 * 2 / 12),
        ("stall_rate", 0.1),
        ("video_loaded", 12),
        ("video_bitrate", (4 * 1 + 6 * 3) / 10),
        ("final_rung", 2),
        ("rung_switches", 1),
        ("best_rung_share", 60),
        ("video_qoe", (1 + 3 + 3 - 2 - 3 * (2 + 2)) / 3),
    ],
)
def test_the_play_is_measured(metric: str, expected: float) -> None:
    assert find_metric(metric).measure(PLAYED) == pytest.approx(expected)


def test_a_stall_that_does_not_end_lasts_to_the_end() -> None:
    endless = timeline(
        row(0, "request_sent", name="/video/manifest.json"),
        *segment(0, "low", 1, 2),
        play(2, "started", 0),
        play(6, "stalled", 4),
        play(16, "ended", 4),
    )
    assert find_metric("stall_time").measure(endless) == 10
    assert find_metric("stall_share").measure(endless) == pytest.approx(100 * 10 / 14)


def test_a_play_that_never_starts_has_no_stalls_but_may_have_loaded_nothing() -> None:
    nothing = timeline(row(0, "request_sent", name="/video/manifest.json"), play(60, "ended", 0))
    values = {metric: find_metric(metric).measure(nothing) for metric in METRICS}
    assert values == {**dict.fromkeys(METRICS), "video_loaded": 0}


def test_a_load_without_a_video_has_none() -> None:
    page = timeline(row(0, "request_sent", name="/"), row(1, "object_done", name="/", size_bytes=1), video={})
    assert {metric: find_metric(metric).measure(page) for metric in METRICS} == dict.fromkeys(METRICS)


def test_a_player_that_crashed_has_none() -> None:
    crashed = timeline(
        row(0, "request_sent", name="/video/manifest.json"), *segment(0, "low", 1, 2), play(2, "started", 0)
    )
    assert find_metric("stalls").measure(crashed) is None
