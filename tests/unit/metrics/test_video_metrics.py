"""What the viewer of a video saw, on a play written by hand."""

from typing import Any

import pytest

from longlook.metrics import find_metric
from longlook.timeline.timeline import Timeline, table_of_rows

VIDEO = {
    "quality": "throughput",
    "length_s": 60.0,
    "segment_s": 4.0,
    "rungs": [{"name": "low", "bitrate_bps": 1_000_000}, {"name": "high", "bitrate_bps": 3_000_000}],
}
METRICS = (
    *("time_to_start", "stalls", "stall_time", "stall_share", "stall_rate", "video_loaded", "video_bitrate"),
    *("final_rung", "rung_switches", "best_rung_share", "video_qoe", "live_latency", "allowed_rung_share"),
    *("bitrate_share", "competitor_bitrate", "competitor_stall_share"),
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
        # 4 s wait from 2, 8 and 9 s to the end at 14 s; 4 s are shown from 2 to 6 s and 6 s from 8 to 14 s
        ("buffer_level", (4 * (12 + 6 + 5) - (4 * 4 / 2 + 4 * 8) - 6 * 6 / 2) / 14),
        ("live_latency", None),
        ("allowed_rung_share", None),
        ("bitrate_share", None),
    ],
)
def test_the_play_is_measured(metric: str, expected: float | None) -> None:
    assert find_metric(metric).measure(PLAYED) == (None if expected is None else pytest.approx(expected))


def test_each_stall_takes_a_live_viewer_further_from_the_edge() -> None:
    live = PLAYED.with_metadata({"video": {**VIDEO, "live_s": 1.5}})
    # 1.5 + 2 s behind while 4 s are shown, and 2 s more for the other 6 s
    assert find_metric("live_latency").measure(live) == pytest.approx((3.5 * 4 + 5.5 * 6) / 10)


@pytest.mark.parametrize(
    ("rate_bps", "expected"),
    [(4_000_000, 60), (3_000_000, 60), (2_999_999, 100), (500_000, 100)],
)
def test_the_link_allows_the_highest_rung_that_is_no_faster(rate_bps: int, expected: float) -> None:
    capacity = {"steps": [[0, rate_bps]], "repeat_ns": None}
    linked = PLAYED.with_metadata({"video": {**VIDEO, "capacity": capacity}})
    assert find_metric("allowed_rung_share").measure(linked) == pytest.approx(expected)


def test_a_link_that_varies_allows_what_its_mean_rate_does() -> None:
    capacity = {"steps": [[0, 5_000_000], [7 * 10**9, 2_000_000]], "repeat_ns": None}
    linked = PLAYED.with_metadata({"video": {**VIDEO, "capacity": capacity}})
    assert find_metric("allowed_rung_share").measure(linked) == pytest.approx(60)  # (5 + 2) / 2 is above 3


def of_player(number: int, rung: str, stalled_s: float = 0.0) -> list[dict[str, Any]]:
    """The rows of a player that shows 4 s of a rung and stands still for some time."""
    flow = f"tcp 10.8.0.{2 * number + 1}:40000 10.8.0.{2 * number + 2}:443"
    rows = [
        row(0, "request_sent", name="/video/manifest.json"),
        *segment(0, rung, 1, 2),
        play(2, "started", 0),
        *([play(6, "stalled", 4)] if stalled_s else []),
        play(6 + stalled_s, "ended", 4),
    ]
    return [{**one, "flow": flow} for one in rows]


def test_players_that_compete_are_distinguished_by_their_flows() -> None:
    flows = [
        {"name": group, "group": group, "cross": False, "server_address": f"10.8.0.{2 * number + 2}"}
        for number, group in enumerate(("subject", "other"))
    ]
    rows = [*of_player(0, "high"), *of_player(1, "low", stalled_s=4)]
    both = timeline(*rows).with_metadata({"video": VIDEO, "competition": {"flows": flows}})
    values = {name: find_metric(name).measure(both) for name in METRICS}
    assert values["video_bitrate"] == 3 and values["stalls"] == 0  # the subject's
    assert (values["competitor_bitrate"], values["bitrate_share"]) == (1, 75)
    assert values["competitor_stall_share"] == 50


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
