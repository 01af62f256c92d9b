"""A client's job over connections that a script breaks: which lines are printed, and when it gives up."""

import asyncio
import json
import sys
from collections.abc import Iterator
from importlib import import_module
from typing import Any

import pytest
from syrupy.assertion import SnapshotAssertion

from longlook.core.paths import adapters_dir

PHASES = (("/page",), ("/a", "/b"))


@pytest.fixture(autouse=True)
def library(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    before = set(sys.modules)
    monkeypatch.syspath_prepend(str(adapters_dir() / "lib" / "python"))
    yield
    for name in set(sys.modules) - before:
        if name.split(".")[0] == "longlook_adapter":
            del sys.modules[name]


class Scripted:
    """A connection whose server answers paths with a status; `None` breaks it and `"never"` leaves it silent."""

    def __init__(self, script: dict[str, Any], log: list[str], ticket: str | None) -> None:
        self.local = f"10.8.0.1:{5000 + len(log)}"
        self._script, self._log, self._broken = script, log, False
        log.append(f"connect {ticket}")

    def begin(self, *, early: bool) -> None:
        self._log.append("early" if early else "begin")

    async def secured(self) -> None:
        self._log.append("secured")

    def ask(self, paths: tuple[str, ...]) -> list[Any]:
        fetching = import_module("longlook_adapter.fetching")
        answers = [fetching.Answer(path) for path in paths]
        for answer in answers:
            self._log.append(answer.path)
            status = self._script.get(answer.path, 200)
            self._broken |= status is None
            if self._broken:
                answer.fail(fetching.FetchError("it broke"))
            elif status != "never":
                answer.begin(status)
                answer.add(b"body")
                answer.end()
        return answers

    async def ticket(self) -> str:
        return "ticket"

    def close(self) -> None:
        self._log.append("close")


def run(
    script: dict[str, Any], capsys: pytest.CaptureFixture[str], **changes: Any
) -> tuple[list[Any], list[str], bool]:
    """The lines, what the connections were asked for, and whether everything arrived."""
    fetching, errors, job = (import_module(f"longlook_adapter.{name}") for name in ("fetching", "errors", "job"))
    log: list[str] = []
    keys = {"connection": "cold", "timeout_s": 5.0, "connections": 1, "priorities": {}, **changes}
    wanted = job.Job(
        protocol="h3", address="10.8.0.2", port=443, phases=PHASES, host="x.test", ca="ca.pem", knobs={}, **keys
    )

    async def connect(ticket: str | None, *, primes: bool) -> Scripted:
        if script.get("connect") is None and "connect" in script:
            raise OSError("no route")
        return Scripted(script, log, ticket)

    try:
        asyncio.run(fetching.run_job(wanted, connect))
        complete = True
    except errors.ReportedError:
        complete = False
    return [json.loads(line) for line in capsys.readouterr().out.splitlines()], log, complete


def test_phases_follow_one_another_on_one_connection(capsys: pytest.CaptureFixture[str]) -> None:
    lines, log, complete = run({}, capsys)
    assert complete
    assert log == ["connect None", "begin", "secured", "/page", "/a", "/b", "close"]
    assert [(line["path"], line["status"], line["bytes"], line["error"]) for line in lines] == [
        (path, 200, 4, None) for path in ("/page", "/a", "/b")
    ]
    assert lines[0]["digest"].startswith("sha256:")


def test_early_requests_do_not_wait_for_the_handshake(capsys: pytest.CaptureFixture[str]) -> None:
    _, log, complete = run({}, capsys, connection="0rtt")
    assert complete
    assert log[:5] == ["connect None", "begin", "secured", "/prime", "close"]
    assert log[5:] == ["connect ticket", "early", "/page", "/a", "/b", "close"]


def test_one_priming_serves_all_connections_and_each_fetches_everything(capsys: pytest.CaptureFixture[str]) -> None:
    lines, log, complete = run({}, capsys, connection="resumed", connections=3)
    assert complete
    assert (log.count("/prime"), log.count("connect ticket")) == (1, 3)
    assert sorted(line["path"] for line in lines) == sorted(["/page", "/a", "/b"] * 3)
    assert len({line["local"] for line in lines}) == 3


@pytest.mark.parametrize(("script", "reason"), [({"/prime": 404}, "HTTP status 404"), ({"connect": None}, "no route")])
def test_without_a_ticket_every_path_of_every_connection_fails(
    script: dict[str, Any], reason: str, capsys: pytest.CaptureFixture[str]
) -> None:
    lines, _, complete = run(script, capsys, connection="resumed", connections=2)
    assert not complete
    assert [line["error"] for line in lines] == [f"priming connection: {reason}"] * 6
    assert {line["status"] for line in lines} == {None}


def test_an_object_that_fails_does_not_stop_the_others(capsys: pytest.CaptureFixture[str]) -> None:
    lines, _, complete = run({"/page": 404}, capsys)
    assert not complete
    assert [line["error"] for line in lines] == ["HTTP status 404", None, None]


def test_a_connection_that_breaks_fails_whatever_is_still_wanted(capsys: pytest.CaptureFixture[str]) -> None:
    lines, _, complete = run({"/page": None}, capsys)
    assert not complete
    assert [(line["path"], line["error"]) for line in lines] == [(path, "it broke") for path in ("/page", "/a", "/b")]


def test_the_time_limit_holds_for_everything_together(
    capsys: pytest.CaptureFixture[str], snapshot: SnapshotAssertion
) -> None:
    lines, log, complete = run({"/page": "never"}, capsys, timeout_s=0.2)
    assert not complete
    assert lines[0]["error"] == snapshot
    assert log[-1] == "close"
