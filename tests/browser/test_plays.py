"""Real players in browsers against a real server on loopback: a play of a few seconds, and what ends one early."""

from collections.abc import Iterator
from ctypes.util import find_library
from pathlib import Path

import pytest

from longlook.core import registry
from longlook.core.job import Content, Identity
from longlook.provision import decoder, players
from longlook.study.settings import workload_defaults, workload_parameters, workload_setting
from longlook.workloads.video import WORKLOAD

from .session_harness import Line, Session, copy_of, free_port, of, quic_go, session_of


def _missing(browser: str) -> pytest.MarkDecorator:
    return pytest.mark.skipif(not registry.get("stacks", browser).installed("system"), reason=f"no {browser} here")


BROWSERS = [
    pytest.param("chromium", marks=(pytest.mark.browser, _missing("chromium"))),
    pytest.param("firefox", marks=(pytest.mark.stacks, _missing("firefox"))),
]


@pytest.fixture(scope="module")
def video() -> Content:
    """Eight seconds of pictures, of which three are watched."""
    given = {"quality": "tiny", "ladder": "tiny", "length": "8s", "segment": "2s", "watch": "3s", "content": "cmaf"}
    written = dict(workload_setting(WORKLOAD, name, value) for name, value in given.items())
    players.players()
    return WORKLOAD.prepare(workload_parameters(WORKLOAD, {**workload_defaults(WORKLOAD), **written}))


@pytest.fixture(scope="module", params=BROWSERS)
def session(request: pytest.FixtureRequest, identity: Identity, port: int) -> Iterator[Session]:
    if request.param == "firefox":
        decoder.decoder()
    with session_of(identity, port, request.param) as session:
        yield session


def play(session: Session, video: Content, player: str) -> list[Line]:
    return session.run(knobs={"player": player}, phases=video.phases, video=dict(video.video))


@pytest.mark.parametrize("player", ["shaka", "dash.js"])
def test_player_plays_what_was_served(
    session: Session, video: Content, identity: Identity, port: int, player: str
) -> None:
    with quic_go("h3", port, video.root, identity):
        lines = play(session, video, player)
    assert lines[-1] == {"event": "done", "ok": True}, lines
    assert [line["state"] for line in of(lines, "play")] == ["started", "ended"]
    assert 1 < of(lines, "play")[-1]["position_s"] < 3.2
    assert {line["path"]: line["digest"] for line in of(lines, "segment") if line["t_end_ns"]} == {
        f"/video/tiny/{number:03}.m4s": video.expected[f"/video/tiny/{number:03}.m4s"].digest for number in range(4)
    }
    first, *_ = sorted(of(lines, "object"), key=lambda line: line["t_start_ns"])
    assert first["path"] == "/video/manifest.mpd"
    assert of(lines, "connection")[0]["t_start_ns"] >= first["t_start_ns"]


@pytest.mark.parametrize("player", ["shaka", "dash.js"])
def test_missing_segment_ends_the_play_with_its_path(
    session: Session, video: Content, identity: Identity, port: int, tmp_path: Path, player: str
) -> None:
    www = copy_of(video, tmp_path)
    (www / "video/tiny/001.m4s").unlink()
    with quic_go("h3", port, str(www), identity):
        lines = play(session, video, player)
    assert lines[-1] == {"event": "done", "ok": False}, lines
    assert "/video/tiny/001.m4s: HTTP status 404" in of(lines, "error")[0]["reason"]


@pytest.mark.parametrize("player", ["shaka", "dash.js"])
def test_manifest_that_is_none_ends_the_play(
    session: Session, video: Content, identity: Identity, port: int, tmp_path: Path, player: str
) -> None:
    www = copy_of(video, tmp_path)
    (www / "video/manifest.mpd").write_text("no manifest")
    with quic_go("h3", port, str(www), identity):
        lines = play(session, video, player)
    assert lines[-1] == {"event": "done", "ok": False}, lines
    assert "error" in of(lines, "error")[0]["reason"]


@pytest.mark.stacks
@_missing("firefox")
@pytest.mark.skipif(find_library("avcodec") is not None, reason="this system has a libavcodec of its own")
def test_firefox_without_a_decoder_says_so(
    identity: Identity, video: Content, scratch: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(decoder, "folder", lambda: scratch / "nothing")
    port = free_port()
    with quic_go("h3", port, video.root, identity):
        session = Session(identity, port, scratch, browser="firefox")
        lines = play(session, video, "shaka")
        session.close()
    assert lines[-1] == {"event": "done", "ok": False}, lines
    assert "Firefox has no H.264 decoder here" in of(lines, "error")[0]["reason"]
