"""What each kind of program can print, and that a line of another kind's is a failure with that reason."""

import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from syrupy.assertion import SnapshotAssertion

import longlook
from longlook.core.job import Content, Echo
from longlook.core.live import LiveSource
from longlook.core.model import Endpoint, Outcome
from longlook.lab.judge import judge
from longlook.lab.observations import FlowCase, FlowKind, Observations
from longlook.lab.vocabulary import EVENTS, VOCABULARY, ProgramKind, client_kind, vocabulary
from tests.data.trials import MS, T0
from tests.unit.lab.test_judge import CONTENT, DONE, OBJECTS, SOUND, TRIAL, accepted, client, fetched, opened, server

CONTRACT = Path(longlook.__file__).parents[2] / "adapters" / "CONTRACT.md"
PAGE = {"event": "page", "url": "u", "t_start_ns": T0, "t_first_byte_ns": T0, "t_loaded_ns": T0 + 9 * MS}
PLAYING = replace(CONTENT, video={"manifest": "/m"})
ECHO = Content("/www", (), {}, echo=Echo((1200,), 3, 1.0))
LIVE = Content("/www", (), {}, live=LiveSource(2, 40_000_000, 1000, 0, 0, 0, 0))

KINDS: dict[ProgramKind, dict[str, Any]] = {
    ProgramKind.CLIENT: {},
    ProgramKind.SESSION_CLIENT: {"session": True},
    ProgramKind.PLAYER: {"content": PLAYING},
    ProgramKind.SESSION_PLAYER: {"content": PLAYING, "session": True},
    ProgramKind.ECHO_CLIENT: {"content": ECHO},
    ProgramKind.VIEWER: {"content": LIVE},
    ProgramKind.CROSS_TRAFFIC_CLIENT: {"kind": FlowKind.CROSS},
}


def with_lines(case: FlowCase, *lines: dict[str, Any]) -> FlowCase:
    return replace(case, client=Observations(lines, (), 0))


@pytest.mark.parametrize("kind", list(KINDS))
def test_a_client_may_print_what_its_kind_does_and_nothing_of_others(kind: ProgramKind) -> None:
    everything = Endpoint("other", "2", {"memory": "none", "multipath": "minrtt"})
    case = replace(SOUND, trial=replace(TRIAL, client=everything), **KINDS[kind])
    assert client_kind(case) is kind
    for event in EVENTS:
        found = vocabulary(with_lines(case, {"event": event, "path": "/a"}))
        assert (found is None) is (event in VOCABULARY[kind]), event
        if found is not None:
            assert found.reason == f"the client printed a line `{event}` (line 1), which no {kind} can print"


@pytest.mark.parametrize("event", sorted(EVENTS))
def test_servers_and_proxies_have_a_vocabulary_of_their_own(event: str) -> None:
    line = Observations(({"event": event},))
    for role, own in (("server", {"upload", "source"}), ("proxy", set())):
        found = vocabulary(replace(SOUND, **{role: line}))
        assert (found is None) is (event in {"ready", "connection", "error"} | own), role


def test_the_forged_page_of_a_client_that_is_no_browser_is_a_failure(snapshot: SnapshotAssertion) -> None:
    forged = judge(replace(SOUND, **client(PAGE, opened(1), *OBJECTS)))
    assert forged.outcome is Outcome.FAILED
    assert forged.reason == snapshot


@pytest.mark.parametrize(
    ("lines", "reason"),
    [
        ((opened(1), *OBJECTS, fetched("/c", 5)), "a line `object` (line 4) of '/c', for which it was never asked"),
        ((opened(1), *OBJECTS, fetched(None, 5)), "(line 4) of 'None', for which it was never asked"),  # type: ignore[arg-type]
        ((opened(1), *OBJECTS, fetched([], 5)), "(line 4) of '[]', for which it was never asked"),  # type: ignore[arg-type]
        ((opened(1), *OBJECTS, {"reason": "x"}), "a line without an event (line 4)"),
        ((opened(1), *OBJECTS, {"event": 7}), "a line without an event (line 4)"),
        ((opened(1), *OBJECTS, {"event": "move"}), "a line `move` (line 4), though nothing in its job"),
        ((opened(1), *OBJECTS, {"event": "path"}), "a line `path` (line 4), though nothing in its job"),
        ((opened(1), *OBJECTS, OBJECTS[1]), "/b: the client reported it 2 times, not once"),
    ],
)
def test_a_client_cannot_print_what_its_job_does_not_have(lines: tuple[dict[str, Any], ...], reason: str) -> None:
    found = judge(replace(SOUND, **client(*lines)))
    assert found.outcome is Outcome.FAILED
    assert reason in (found.reason or "")


def test_a_browser_reports_a_page_and_its_end_once() -> None:
    browser = replace(SOUND, session=True)
    lines = (opened(1), *OBJECTS, PAGE, DONE)
    assert judge(replace(browser, **client(*lines, exit_code=None))).outcome is Outcome.OK
    for twice in (PAGE, DONE):
        found = judge(replace(browser, **client(twice, *lines, exit_code=None)))
        assert found.outcome is Outcome.FAILED
        assert found.reason == f"the client printed 2 lines `{twice['event']}`, of which a job has one"


def test_events_that_nobody_knows_are_ignored() -> None:
    unknown = {"event": "tunnel", "t_ready_ns": float("nan")}
    case = replace(SOUND, **client(unknown, opened(1), *OBJECTS), **server(unknown, accepted(1)))
    assert judge(case).outcome is Outcome.OK


def test_the_contract_has_this_table() -> None:
    section = CONTRACT.read_text().partition("\n## Lines\n")[2]
    rows = re.findall(r"^\| (?:`(\w+)`) \| ([^|]+) \|", section, re.MULTILINE)
    assert {event for event, _ in rows} == EVENTS
