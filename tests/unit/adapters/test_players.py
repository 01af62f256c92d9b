"""Players of videos in browsers: what a job may ask of them, which file is which segment, and the lines of a play."""

import json
import sys
from collections.abc import Mapping
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

from longlook.core.paths import adapters_dir
from longlook.provision import players

for place in ("lib/python", "lib/player"):
    sys.path.insert(0, str(adapters_dir() / place))

play = import_module("longlook_player.play")
report = import_module("longlook_player.report")
dash = import_module("longlook_player.dash")
parse_job = import_module("longlook_adapter.browserjob").parse_job
UnsupportedError = import_module("longlook_adapter.errors").UnsupportedError

PLAYERS = play.PLAYERS
VIDEO = {
    "manifest": "/video/manifest.json", "quality": "tiny",
    "watch_s": 10.0, "start_s": 0.0, "resume_s": 0.0, "buffer_s": 20.0, "live_s": 0.0,
}  # fmt: skip
MPD = """<MPD xmlns="urn:mpeg:dash:schema:mpd:2011" mediaPresentationDuration="PT1M4S"><Period><AdaptationSet>
<SegmentTemplate timescale="24000" duration="48000" startNumber="0" media="$RepresentationID$/$Number%03d$.m4s"/>
<Representation id="high" bandwidth="600000"/><Representation id="low" bandwidth="200000"/>
</AdaptationSet></Period></MPD>"""


def job(player: str | None, players: Mapping[str, tuple[str, ...]] = PLAYERS, **video: Any) -> Any:
    knobs = {} if player is None else {"player": player}
    given = {
        "protocol": "h3", "connection": "cold", "address": "127.0.0.1", "port": 443, "timeout_s": 30,
        "phases": [["/video/manifest.json"]], "knobs": knobs, "video": {**VIDEO, **video},
    }  # fmt: skip
    return parse_job(json.dumps(given), "Chromium", ("cold",), ("h3", "h2"), players)


def test_job_with_a_player_is_a_play() -> None:
    asked = job("dash.js", quality="bola").play
    assert asked is not None
    assert (asked.player, asked.quality, asked.buffer_s) == ("dash.js", "bola", 20.0)


@pytest.mark.parametrize(
    ("player", "video", "reason"),
    [
        (None, {}, "plays a video with shaka or dash.js"),
        ("vlc", {}, "plays a video with shaka or dash.js"),
        ("shaka", {"quality": "bola"}, "rules of shaka: none"),
        ("dash.js", {"quality": "buffer"}, "rules of dash.js: throughput, bola"),
        ("shaka", {"resume_s": 4.0}, "one setting"),
        ("dash.js", {"resume_s": 4.0}, "resume is 0 alone"),
        ("shaka", {"live_s": 2.0}, "live"),
    ],
)
def test_what_a_player_cannot_do_is_refused(player: str | None, video: dict[str, Any], reason: str) -> None:
    with pytest.raises(UnsupportedError, match=reason):
        job(player, **video)


def test_browser_without_players_refuses_videos() -> None:
    with pytest.raises(UnsupportedError, match="plays no video here"):
        job("shaka", {})


def test_manifest_says_which_file_is_which_segment() -> None:
    manifest = dash.parse_manifest(MPD, "/video/manifest.mpd")
    assert (manifest.length_s, manifest.segment_s, list(manifest.rungs_bps)) == (64.0, 2.0, ["low", "high"])
    assert len(manifest.segments) == 64
    assert manifest.segments["/video/high/031.m4s"] == ("high", 31)


@pytest.mark.parametrize("text", ["<MPD", "<MPD/>", MPD.replace('duration="48000"', ""), MPD.replace("48000", "0")])
def test_other_manifests_are_named_as_such(text: str) -> None:
    with pytest.raises(dash.ManifestError, match=r"/video/manifest\.mpd"):
        dash.parse_manifest(text, "/video/manifest.mpd")


def test_stacks_and_drivers_know_the_same_players() -> None:
    assert play.PLAYERS == players.RULES
    assert play.PLAYERS.keys() == players.PLAYERS.keys()


def test_script_is_read_only_whole(tmp_path: Path) -> None:
    (tmp_path / "shaka.js").write_text("a")
    (tmp_path / "shaka.sha256").write_text("ca978112ca1bbdcafac231b39a23dc4da786eff8147c4e72b9807785afee48bb")
    assert play.read_player(str(tmp_path), "shaka") == "a"
    (tmp_path / "shaka.js").write_text("b")
    with pytest.raises(UnsupportedError, match="damaged"):
        play.read_player(str(tmp_path), "shaka")
    with pytest.raises(UnsupportedError, match="cannot be read"):
        play.read_player(str(tmp_path), "dash.js")


def request(
    number: int, start_ms: int, end_ms: int | None, error: str | None = None, *, ended_by_page: bool = False
) -> Any:
    path = f"/video/low/{number:03}.m4s"
    end_ns = None if end_ms is None else end_ms * 1_000_000
    return report.Request(path, {"path": path}, start_ms * 1_000_000, None, end_ns, error, ended_by_page)


MPD_PATH = "/video/manifest.mpd"
MANIFEST = report.Request(MPD_PATH, {"path": MPD_PATH}, 0, 50_000_000, 60_000_000, None, False)


def body(number: int, t_ms: float, position_s: float) -> dict[str, Any]:
    url = f"https://quic.example.test/video/low/{number:03}.m4s"
    return {"url": url, "t_ms": t_ms, "position_s": position_s, "bytes": 7, "digest": "sha256:0"}


def lines(capsys: pytest.CaptureFixture[str], requests: list[Any], error: str | None = None) -> list[dict[str, Any]]:
    """Print a play whose page's clock is 40 ms behind and whose viewer leaves 1000 ms after its zero."""
    record = {
        "manifest": MPD,
        "manifest_ms": 10.0,
        "error": error,
        "states": [
            {"state": "started", "t_ms": 200.0, "position_s": 0.0},
            {"state": "ended", "t_ms": 1000.0, "position_s": 0.8},
        ],
        "bodies": [body(0, 150.0, 0.0), body(1, 600.0, 0.4)],
    }
    asked = job("shaka", quality="low").play
    report.report_play([MANIFEST, *requests], record, asked, "/video/manifest.mpd")
    return [json.loads(text) for text in capsys.readouterr().out.splitlines()]


def test_times_of_the_page_are_put_on_the_clock_of_the_browser(capsys: pytest.CaptureFixture[str]) -> None:
    printed = lines(capsys, [request(0, 70, 180), request(1, 190, 630)])
    plays = [line for line in printed if line["event"] == "play"]
    assert [(line["t_ns"] // 1_000_000, line["buffer_s"]) for line in plays] == [(240, 2.0), (1040, 3.2)]
    segments = [line for line in printed if line["event"] == "segment"]
    assert [(line["index"], line["buffer_s"]) for line in segments] == [(0, 2.0), (1, 3.6)]


@pytest.mark.parametrize(
    "last",
    [
        request(2, 640, None),
        request(2, 640, 1041, "aborted", ended_by_page=True),
    ],
)
def test_what_is_under_way_at_the_end_is_given_up(capsys: pytest.CaptureFixture[str], last: Any) -> None:
    printed = lines(capsys, [request(0, 70, 180), request(1, 190, 630), last])
    assert [line["path"] for line in printed if line["event"] == "object"][-1] == "/video/low/001.m4s"
    (unfinished,) = [line for line in printed if line["event"] == "segment" and line["t_end_ns"] is None]
    assert (unfinished["index"], unfinished["error"]) == (2, None)
    assert printed[-1]["event"] == "play"


@pytest.mark.parametrize(
    ("wrong", "reason"),
    [
        (request(1, 190, 630, "HTTP status 404"), "/video/low/001.m4s: HTTP status 404"),
        (request(1, 190, 300, "aborted", ended_by_page=True), "/video/low/001.m4s: aborted"),
        (request(0, 190, 300), "shaka asked for segment 0 twice"),
    ],
)
def test_what_fails_before_the_end_ends_the_play(capsys: pytest.CaptureFixture[str], wrong: Any, reason: str) -> None:
    printed = lines(capsys, [request(0, 70, 180), wrong])
    assert printed[-1] == {"event": "error", "reason": reason}
