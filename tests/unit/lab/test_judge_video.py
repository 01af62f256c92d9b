"""The judgement of a player: what it was given is the video, and it played to the end of its time."""

from dataclasses import replace
from typing import Any

import pytest
from syrupy.assertion import SnapshotAssertion

from longlook.core.job import Content, ExpectedAnswer
from longlook.core.model import Outcome
from longlook.lab.judge import judge
from longlook.lab.observations import FlowCase, Observations
from tests.data.trials import MS, T0
from tests.unit.lab.test_judge import DIGEST, READY, SOUND, accepted, fetched, opened

CONTENT = Content(
    "/www",
    (("/m",),),
    {"/m": ExpectedAnswer(10, DIGEST), "/s": ExpectedAnswer(20, DIGEST), "/never": ExpectedAnswer(20, DIGEST)},
    video={"manifest": "/m"},
)


def segment(**keys: Any) -> dict[str, Any]:
    line = {"event": "segment", "index": 7, "rung": "low", "path": "/s", "bytes": 20, "digest": DIGEST}
    return {**line, "t_start_ns": T0, "t_end_ns": T0 + MS, "buffer_s": 2.0, "error": None, **keys}


ENDED = {"event": "play", "state": "ended", "t_ns": T0 + 9 * MS, "position_s": 2.0, "buffer_s": 0.0}
STARTED = {**ENDED, "state": "started", "t_ns": T0 + 2 * MS, "position_s": 0.0}
GOOD = (opened(1), fetched("/m", 10), fetched("/s?segment=7", 20), segment(), ENDED)


def case(*lines: dict[str, Any], **changes: Any) -> FlowCase:
    played = replace(SOUND, content=CONTENT, client=Observations(lines, (), 0))
    return replace(played, server=Observations((READY, accepted(1))), **changes)


def test_a_play_is_sound_though_not_every_segment_was_asked_for() -> None:
    assert judge(case(*GOOD)).outcome is Outcome.OK


def test_a_segment_under_way_at_the_end_is_no_fault() -> None:
    assert judge(case(*GOOD[:-1], segment(index=8, t_end_ns=None, bytes=3, digest=None), ENDED)).outcome is Outcome.OK


def test_parts_over_two_connections_are_sound(snapshot: SnapshotAssertion) -> None:
    parts = (fetched("/s?segment=7&part=0", 10, status=206), fetched("/s?segment=7&part=1", 10, status=206))
    two = replace(CONTENT, connections=2)
    servers = Observations((READY, accepted(1), accepted(2)))
    lines = (opened(1), opened(2), fetched("/m", 10), *parts, segment(), ENDED)
    assert judge(replace(case(*lines), content=two, server=servers)).outcome is Outcome.OK
    one = replace(case(*lines), content=two)
    assert judge(one).reason == snapshot


@pytest.mark.parametrize(
    ("lines", "reason"),
    [
        ((*GOOD[:2], fetched("/s?segment=7", 19), segment(), ENDED), "/s?segment=7: wrong body: 19 bytes"),
        ((*GOOD[:2], fetched("/s?segment=7", 20, status=404), ENDED), "/s?segment=7: HTTP status 404"),
        ((*GOOD[:2], fetched("/x", 20), ENDED), "/x: it is no file of the video"),
        ((*GOOD[:2], fetched("/s?segment=7&part=0", 20, status=206), ENDED), "a part of 20 bytes"),
        ((*GOOD[:2], fetched("/s?segment=7&part=0", 10), ENDED), "HTTP status 200, not 206"),
        ((*GOOD[:3], segment(digest="sha256:1"), ENDED), "segment 7 of low: wrong body: sha256:1"),
        ((*GOOD[:3], segment(digest=None), ENDED), "segment 7 of low: the player does not report its digest"),
        ((*GOOD[:3], segment(bytes=19), ENDED), "segment 7 of low: wrong body: 19 bytes"),
        (GOOD[:-1], "the player never reported the end of its play"),
        ((*GOOD, ENDED), "the player reported a play that ends in the states ended, ended"),
        ((*GOOD, STARTED), "the player reported a play that ends in the states ended, started"),
        ((*GOOD[:-1], STARTED, STARTED, ENDED), "that ends in the states started, started, ended"),
        ((*GOOD, {**ENDED, "state": ["x"]}), "the player reported the unknown state"),
    ],
)
def test_anything_else_is_named(lines: tuple[dict[str, Any], ...], reason: str) -> None:
    found = judge(case(*lines))
    assert found.outcome is Outcome.FAILED
    assert reason in (found.reason or "")
