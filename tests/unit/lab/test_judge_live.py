"""Live sources: what both ends must account for, against an otherwise sound trial."""

from dataclasses import replace
from typing import Any

import pytest

from longlook.core.job import Content
from longlook.core.live import LiveSource, digest_of
from longlook.core.model import Outcome
from longlook.lab.judge import judge
from longlook.lab.judge_live import whole_frames
from longlook.lab.observations import FlowCase, Observations
from tests.data.trials import MS, T0
from tests.unit.lab.test_judge import READY, SOUND, accepted, opened

SOURCE = LiveSource(3, 40 * MS, 1000, 5000, 3, 0, 0)
BEGAN = T0 + 100 * MS
LATENCIES = [20 * MS, None, 30 * MS]


def live(**keys: Any) -> dict[str, Any]:
    line = {"event": "live", "carrier": "stream_per_frame", "t_start_ns": T0, "t_source_ns": BEGAN, "error": None}
    seen = {
        "t_end_ns": BEGAN + 300 * MS,
        "frames": 3,
        "completed": 2,
        "bytes": 6000,
        "digest": digest_of(SOURCE, (0, 2)),
    }
    return {**line, **seen, **keys}


def frames(**keys: Any) -> dict[str, Any]:
    line = {"event": "frames", "first": 0, "t_first_ns": BEGAN, "interval_ns": 40 * MS, "bytes": 6000}
    return {**line, "latency_ns": LATENCIES, **keys}


def source(**keys: Any) -> dict[str, Any]:
    line = {"event": "source", "carrier": "stream_per_frame", "t_start_ns": BEGAN, "t_end_ns": BEGAN + 200 * MS}
    return {**line, "frames": 3, "sent": 2, "reset": 1, "dropped": 0, "bytes": 6000, "error": None, **keys}


def case(*client: dict[str, Any], server: tuple[dict[str, Any], ...] = (source(),), exit_code: int = 0) -> FlowCase:
    trial = replace(SOUND.trial, protocol="quic-live", congestion_control=None)
    begun = {**opened(1), "protocol": "quic-live", "resumed": False}
    return replace(
        SOUND,
        trial=trial,
        content=Content("/www", (), {}, live=SOURCE),
        client=Observations((begun, *client), (), exit_code),
        server=Observations((READY, {**accepted(1), "protocol": "quic-live", "resumed": False}, *server)),
    )


def test_a_frame_that_never_came_is_a_result() -> None:
    found = judge(case(live(), frames()))
    assert (found.outcome, found.reason) == (Outcome.OK, None)


@pytest.mark.parametrize(
    ("client", "server", "reason"),
    [
        ((frames(),), (source(),), "the client reported the source 0 times and the server 1 times"),
        ((live(), frames()), (), "and the server 0 times, not once"),
        ((live(),), (source(),), "do not have each of 3 frames once, in order"),
        ((live(), frames(), frames()), (source(),), "do not have each of 3 frames"),
        ((live(), frames(latency_ns=[1.5, None, 2])), (source(),), "do not have each of 3 frames"),
        ((live(), frames(latency_ns=None)), (source(),), "do not have each of 3 frames"),
        ((live(), frames(bytes=5000)), (source(),), "do not have each of 3 frames"),
        ((live(completed=3), frames()), (source(),), "it has 3 frames of 6000 bytes, and lists 2 of 6000"),
        ((live(digest="sha256:1"), frames()), (source(),), "wrong frames: sha256:1"),
        ((live(carrier="datagrams"), frames()), (source(),), "the client reported 3 frames by datagrams, asked for"),
        ((live(), frames()), (source(carrier="one_stream"),), "the server reported 3 frames by one_stream"),
        ((live(), frames()), (source(dropped=1),), "says what became of 4 frames, and had 3"),
        ((live(), frames()), (source(t_start_ns=BEGAN + 1),), "disagree on when the first frame was produced"),
        ((live(t_source_ns=None), frames()), (source(),), "whose t_source_ns is missing"),
    ],
)  # fmt: skip
def test_what_the_lines_contradict_is_the_reason(
    client: tuple[dict[str, Any], ...], server: tuple[dict[str, Any], ...], reason: str
) -> None:
    found = judge(case(*client, server=server))
    assert found.outcome is Outcome.FAILED
    assert found.reason is not None
    assert reason in found.reason


def test_the_reasons_of_both_ends_are_named() -> None:
    client = live(error="no frame came", t_source_ns=None)
    found = judge(case(client, server=(source(error="refused"),), exit_code=1))
    assert found.reason is not None
    assert "client: no frame came; server: refused" in found.reason


def test_whole_frames_are_objects_for_the_link() -> None:
    first, second = whole_frames(case(live(), frames()))
    assert (first["bytes"], first["t_end_ns"]) == (5000, BEGAN + 20 * MS)
    assert (second["path"], second["bytes"], second["t_end_ns"]) == ("frame 2", 1000, BEGAN + 110 * MS)
