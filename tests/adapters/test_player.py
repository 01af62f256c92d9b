"""The player of quic-go over loopback: a play to its end, over two connections, and with everything that can be wrong.

What it decides from times is in adapters/quic-go/player_test.go; here the programs are real.
"""

import json
import signal
import threading
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from longlook.core.job import Content
from longlook.core.model import ConnectionState
from longlook.core.stack import ClientJob
from longlook.provision import tls
from longlook.provision.video import MANIFEST_PATH, Video, video_content
from tests.adapters.harness import (
    LOOPBACK,
    Answer,
    Server,
    json_lines,
    of_event,
    program_of,
    server_command,
    serving,
    stack_named,
    start,
)

NAME = "quic-go"
VIDEO = Video({"low": 400_000, "high": 4_000_000}, 200_000_000, 1_000_000_000, "constant")
JOB = {"manifest": MANIFEST_PATH, "quality": "low", "watch_s": 5.0, "start_s": 0.0, "resume_s": 0.0, "buffer_s": 0.6}

pytestmark = pytest.mark.parametrize("protocol", ["h3", "h2"])


@pytest.fixture
def video(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Content:
    """A second of video in five segments, in a folder of its own that a test may damage."""
    identity = tls.identity()  # of the real cache
    monkeypatch.setattr(tls, "identity", lambda *_: identity)
    program_of(NAME)
    monkeypatch.setenv("LONGLOOK_CACHE", str(tmp_path))
    return replace(video_content(VIDEO), video=JOB)


def play(folder: Path, protocol: str, server: Server, content: Content, **changes: Any) -> Answer:
    connections = changes.pop("connections", 1)
    job = ClientJob(
        protocol, ConnectionState.COLD, LOOPBACK, server.port, content.phases, tls.identity(), {}, 20.0, connections,
        video={**content.video, **changes},
    )  # fmt: skip
    file = folder / "job.json"
    file.write_text(json.dumps(job.data()))
    command = stack_named(NAME).client_command
    assert command is not None
    process = start(command(program_of(NAME), str(file)))
    out, errors = process.communicate(timeout=30)
    return Answer(process.returncode, json_lines(out), errors)


def states(answer: Answer) -> list[str]:
    return [line["state"] for line in of_event(answer.lines, "play")]


def test_it_plays_to_the_end(protocol: str, tmp_path: Path, video: Content) -> None:
    with serving(server_command(NAME, protocol, video.root)) as server:
        answer = play(tmp_path, protocol, server, video)
    assert answer.exit_code == 0, answer.errors
    segments = of_event(answer.lines, "segment")
    assert [line["index"] for line in segments] == [0, 1, 2, 3, 4]
    assert [line["path"] for line in segments] == [f"/video/low/{number % 4:03}.m4s" for number in range(5)]
    for line in segments:
        expected = video.expected[line["path"]]
        assert (line["bytes"], line["digest"], line["error"]) == (expected.bytes, expected.digest, None)
    assert max(line["buffer_s"] for line in segments) <= 0.6
    assert (states(answer)[0], states(answer)[-1]) == ("started", "ended")
    started, ended = of_event(answer.lines, "play")[0], of_event(answer.lines, "play")[-1]
    assert ended["position_s"] == 1.0
    assert ended["t_ns"] - started["t_ns"] >= 10**9
    assert set(answer.objects) == {MANIFEST_PATH, *(f"{line['path']}?segment={line['index']}" for line in segments)}


def test_two_connections_carry_half_of_each_segment(protocol: str, tmp_path: Path, video: Content) -> None:
    with serving(server_command(NAME, protocol, video.root)) as server:
        answer = play(tmp_path, protocol, server, video, connections=2)
    assert answer.exit_code == 0, answer.errors
    assert len(answer.connections) == 2
    parts = {path: line for path, line in answer.objects.items() if "part=" in path}
    assert len(parts) == 10
    assert {(line["status"], line["bytes"]) for line in parts.values()} == {(206, 5_000)}
    assert len({line["local"] for line in parts.values()}) == 2
    for line in of_event(answer.lines, "segment"):
        assert line["digest"] == video.expected[line["path"]].digest


@pytest.mark.parametrize("rule", ["throughput", "bola", "buffer"])
def test_rules_choose_a_rung(protocol: str, rule: str, tmp_path: Path, video: Content) -> None:
    with serving(server_command(NAME, protocol, video.root)) as server:
        answer = play(tmp_path, protocol, server, video, quality=rule)
    assert answer.exit_code == 0, answer.errors
    rungs = [line["rung"] for line in of_event(answer.lines, "segment")]
    assert rungs[0] == "low"
    if rule == "throughput":  # loopback has more than 4 Mbit/s
        assert rungs[1:] == ["high"] * 4


def test_live_chunks_are_asked_for_when_they_are_there(protocol: str, tmp_path: Path, video: Content) -> None:
    content = video_content(
        Video({"low": 400_000, "high": 4_000_000}, 400_000_000, 1_200_000_000, "constant", chunks=4)
    )
    live = replace(content, video={**JOB, "quality": "throughput", "live_s": 0.2})
    with serving(server_command(NAME, protocol, live.root)) as server:
        answer = play(tmp_path, protocol, server, live)
    assert answer.exit_code == 0, answer.errors
    (facts,) = of_event(answer.lines, "video")
    assert (facts["segment_s"], facts["live_s"]) == (0.1, 0.2)
    chunks = of_event(answer.lines, "segment")
    assert [line["rung"] for line in chunks] == ["low"] * 4 + ["high"] * 8  # the rung changes with a segment alone
    began = answer.objects[MANIFEST_PATH]["t_start_ns"]
    for line in chunks:
        assert line["t_start_ns"] - began >= (line["index"] + 1) * 100_000_000 - 200_000_000
        assert line["digest"] == live.expected[line["path"]].digest
    ended = of_event(answer.lines, "play")[-1]
    assert ended["position_s"] == pytest.approx(1.2)


def test_a_segment_that_is_missing_ends_the_play(protocol: str, tmp_path: Path, video: Content) -> None:
    (Path(video.root) / "video/low/002.m4s").unlink()
    with serving(server_command(NAME, protocol, video.root)) as server:
        answer = play(tmp_path, protocol, server, video)
    assert answer.exit_code == 1
    assert [line["reason"] for line in of_event(answer.lines, "error")] == ["segment 2 of low: HTTP status 404"]
    assert of_event(answer.lines, "segment")[-1]["error"] == "segment 2 of low: HTTP status 404"
    assert states(answer)[-1] == "ended"


def test_a_segment_that_is_too_short_ends_the_play(protocol: str, tmp_path: Path, video: Content) -> None:
    with (Path(video.root) / "video/low/001.m4s").open("r+b") as file:
        file.truncate(100)
    with serving(server_command(NAME, protocol, video.root)) as server:
        answer = play(tmp_path, protocol, server, video)
    assert answer.exit_code == 1
    (error,) = of_event(answer.lines, "error")
    assert error["reason"] == "segment 1 of low: 100 bytes arrived, the manifest has 10000"


@pytest.mark.parametrize(
    ("manifest", "problem"),
    [("<MPD/>", "invalid character"), ('{"segment_ns": 4, "length_ns": 10, "rungs": []}', "whole segments")],
)
def test_a_manifest_that_is_none_is_refused(
    protocol: str, manifest: str, problem: str, tmp_path: Path, video: Content
) -> None:
    (Path(video.root) / MANIFEST_PATH.removeprefix("/")).write_text(manifest)
    with serving(server_command(NAME, protocol, video.root)) as server:
        answer = play(tmp_path, protocol, server, video)
    assert answer.exit_code == 1
    (error,) = of_event(answer.lines, "error")
    assert error["reason"].startswith(f"the manifest {MANIFEST_PATH}: ") and problem in error["reason"]


def test_a_server_that_falls_silent_is_a_stall_with_numbers(protocol: str, tmp_path: Path, video: Content) -> None:
    with serving(server_command(NAME, protocol, video.root)) as server:
        silence = threading.Timer(0.7, lambda: server.signal_all(signal.SIGSTOP))
        silence.start()
        try:
            answer = play(tmp_path, protocol, server, replace(video, video={**JOB, "buffer_s": 0.2, "watch_s": 2.0}))
        finally:
            silence.cancel()
            server.signal_all(signal.SIGCONT)
    assert answer.exit_code == 0, answer.errors
    assert states(answer)[-2:] == ["stalled", "ended"]
    last = of_event(answer.lines, "segment")[-1]
    assert last["t_end_ns"] is None and last["error"] is None
    stalled, ended = of_event(answer.lines, "play")[-2:]
    assert stalled["position_s"] == ended["position_s"] < 1
    assert ended["t_ns"] - stalled["t_ns"] > 10**9 / 2


def test_a_quality_that_the_manifest_lacks_is_bad_usage(protocol: str, tmp_path: Path, video: Content) -> None:
    with serving(server_command(NAME, protocol, video.root)) as server:
        answer = play(tmp_path, protocol, server, video, quality="hd4320")
    assert answer.exit_code == 2
    (error,) = of_event(answer.lines, "error")
    assert error["reason"].endswith("give throughput, bola, buffer, or one of low, high")
