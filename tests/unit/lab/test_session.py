"""Which trials share a session client."""

from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from longlook.core.job import Identity, Program
from longlook.core.model import Capture
from longlook.core.stack import Stack, Version
from longlook.lab import session as module
from longlook.lab.session import ClientSession, Sessions

PROGRAM = Program("/usr/bin/browser", "0" * 64)


@pytest.fixture
def identities(tmp_path: Path) -> tuple[Identity, Identity]:
    """Two certificates of one authority and one key."""
    found = []
    for name in ("short", "long"):
        (tmp_path / name).write_text(name)
        found.append(Identity("www.example.test", "ca.pem", str(tmp_path / name), "key.pem", "the key's digest"))
    return found[0], found[1]


@pytest.fixture
def sessions(monkeypatch: pytest.MonkeyPatch) -> Sessions:
    """Sessions whose clients are nothing but a note whether they have ended."""

    def start(
        _self: Sessions, _stack: Stack, _program: Program, _identity: Identity, certificate: str, **_: Any
    ) -> ClientSession:
        nothing: Any = SimpleNamespace(close=lambda: None)
        process: Any = SimpleNamespace(ended=False, close=lambda: None)
        process.has_ended = lambda: process.ended
        here = Path()
        return ClientSession(process, nothing, nothing, here, here, certificate, None, here, Capture())

    monkeypatch.setattr(Sessions, "_start", start)
    monkeypatch.setattr(module, "stop", lambda process: setattr(process, "ended", True))
    any_environment: Any = None
    return Sessions(any_environment, any_environment, Path(), "packet")


def browser(*, one_certificate: bool) -> Stack:
    return Stack(
        name="browser",
        summary="",
        roles=("client",),
        protocols=("h3",),
        connections=(),
        versions=(Version("system", ""),),
        knobs={},
        log_formats=(),
        install=lambda _version: PROGRAM,
        one_certificate=one_certificate,
    )


def test_a_client_serves_trials_with_several_certificates(
    sessions: Sessions, identities: tuple[Identity, Identity]
) -> None:
    stack = browser(one_certificate=False)
    first, second = (sessions.get(stack, PROGRAM, identity, capture=Capture()) for identity in identities)
    assert first is second


def test_a_client_that_refuses_a_second_certificate_is_replaced_for_it(
    sessions: Sessions, identities: tuple[Identity, Identity]
) -> None:
    stack = browser(one_certificate=True)
    short, long = identities
    first = sessions.get(stack, PROGRAM, short, capture=Capture())
    assert sessions.get(stack, PROGRAM, replace(short), capture=Capture()) is first
    second = sessions.get(stack, PROGRAM, long, capture=Capture())
    assert second is not first
    assert first.process.has_ended(), "two of them would run at once"
    assert sessions.get(stack, PROGRAM, long, capture=Capture()) is second
    assert sessions.get(stack, PROGRAM, short, capture=Capture()) is not first


def test_a_client_that_has_ended_is_replaced(sessions: Sessions, identities: tuple[Identity, Identity]) -> None:
    stack = browser(one_certificate=False)
    first = sessions.get(stack, PROGRAM, identities[0], capture=Capture())
    first.process.ended = True  # type: ignore[attr-defined]  # the fixture's note
    assert sessions.get(stack, PROGRAM, identities[0], capture=Capture()) is not first
