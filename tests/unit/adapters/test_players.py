"""Chromium's players of videos: what a job may ask of them, and which file of a manifest of DASH is which segment."""

import json
import sys
from importlib import import_module
from typing import Any

import pytest

from longlook.core.paths import adapters_dir

for place in ("lib/python", "chromium"):
    sys.path.insert(0, str(adapters_dir() / place))

dash = import_module("chromium_driver.dash")
parse_job = import_module("longlook_adapter.browserjob").parse_job
UnsupportedError = import_module("longlook_adapter.errors").UnsupportedError

PLAYERS: dict[str, tuple[str, ...]] = {"shaka": (), "dash.js": ("throughput", "bola")}
VIDEO = {
    "manifest": "/video/manifest.json", "quality": "tiny",
    "watch_s": 10.0, "start_s": 0.0, "resume_s": 0.0, "buffer_s": 20.0, "live_s": 0.0,
}  # fmt: skip
MPD = """<MPD xmlns="urn:mpeg:dash:schema:mpd:2011" mediaPresentationDuration="PT1M4S"><Period><AdaptationSet>
<SegmentTemplate timescale="24000" duration="48000" startNumber="0" media="$RepresentationID$/$Number%03d$.m4s"/>
<Representation id="high" bandwidth="600000"/><Representation id="low" bandwidth="200000"/>
</AdaptationSet></Period></MPD>"""


def job(player: str | None, players: dict[str, tuple[str, ...]] = PLAYERS, **video: Any) -> Any:
    knobs = {} if player is None else {"player": player}
    given = {
        "protocol": "h3", "connection": "cold", "address": "127.0.0.1", "port": 443, "timeout_s": 30,
        "phases": [["/video/manifest.json"]], "knobs": knobs, "video": {**VIDEO, **video},
    }  # fmt: skip
    return parse_job(json.dumps(given), "Chromium", ("cold",), ("h3", "h2"), players)


def test_job_with_a_player_is_a_play() -> None:
    play = job("dash.js", quality="bola").play
    assert play is not None
    assert (play.player, play.quality, play.buffer_s) == ("dash.js", "bola", 20.0)


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
