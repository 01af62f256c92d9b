"""The driver of a browser that is not its own: what it refuses, leaves behind, and never repeats."""

import json
import sqlite3
import subprocess
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, closing
from pathlib import Path
from typing import Any

import pytest

from longlook.core.job import Content, Identity, Program
from longlook.stacks import chromium_remote
from longlook.stacks.chromium import find_browser

from .session_harness import HOST, Session, free_port, quic_go, wait_for

pytestmark = pytest.mark.browser

NEVER = {"net": {"network_prediction_options": 2}}


class Elsewhere:
    """A browser that somebody else has started, with a profile that outlives it."""

    def __init__(self, profile: Path, port: int) -> None:
        self.profile, self.port = profile, port
        self.devtools = free_port()
        self._process: subprocess.Popen[bytes] | None = None

    def start(self, flags: Sequence[str], preferences: dict[str, Any] = NEVER) -> None:
        settings = self.profile / "Default" / "Preferences"
        if not settings.exists():
            settings.parent.mkdir(parents=True)
            settings.write_text(json.dumps(preferences))
        self._process = subprocess.Popen(
            (
                str(find_browser()),
                *("--headless=new", "--no-sandbox", "--no-first-run", "--disable-gpu", "--disable-breakpad"),
                f"--user-data-dir={self.profile}",
                f"--remote-debugging-port={self.devtools}",
                *flags,
                "about:blank",
            ),
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        wait_for(lambda: self.answers() is not None, "the browser's port")

    def answers(self) -> dict[str, Any] | None:
        done = subprocess.run(self._driver("describe", f"{HOST}:{self.devtools}"), capture_output=True, check=False)
        return json.loads(done.stdout) if done.returncode == 0 else None

    def flags(self, identity: Identity, names: int = 500) -> list[str]:
        where = ("--address", HOST, "--port", str(self.port), "--spki", identity.spki_sha256)
        done = subprocess.run(self._driver("flags", *where), capture_output=True, text=True, check=True)
        return [_first(flag, names) for flag in done.stdout.splitlines()]

    def _driver(self, *arguments: str) -> list[str]:
        folders = chromium_remote.session_command(Program("", ""), Identity("a.b", "", "", "", "")).env
        argv = chromium_remote.session_command(Program("", ""), Identity("a.b", "", "", "", "")).argv
        return ["env", *(f"{name}={value}" for name, value in folders.items()), *argv[:2], *arguments]

    def marks(self) -> int:
        """Return how many marks of used names are on the disk; a browser writes its cookies every half minute."""
        (file,) = [*self.profile.glob("Default/Cookies"), *self.profile.glob("Default/Network/Cookies")]
        with closing(sqlite3.connect(f"file:{file}?mode=ro", uri=True)) as cookies:
            try:
                return int(cookies.execute("select count(*) from cookies where name = 'longlook-used'").fetchone()[0])
            except sqlite3.OperationalError:  # it is being written
                return 0

    def end(self) -> None:
        if self._process is not None:
            self._process.terminate()
            self._process.wait(20)


def _first(flag: str, names: int) -> str:
    key, _, value = flag.partition("=")
    return f"{key}={','.join(value.split(',')[:names])}" if key == "--origin-to-force-quic-on" else flag


@pytest.fixture
def elsewhere() -> Iterator[Elsewhere]:
    with tempfile.TemporaryDirectory(prefix="elsewhere-", dir="/tmp", ignore_cleanup_errors=True) as profile:
        browser = Elsewhere(Path(profile), free_port())
        yield browser
        browser.end()


@pytest.fixture
def drive(elsewhere: Elsewhere, identity: Identity, scratch: Path) -> Iterator[Callable[..., Session]]:
    """Start drivers of the browser; `changes` are of what the run believes to find."""
    with ExitStack() as stack:

        def begin(**changes: Any) -> Session:
            known = scratch / "browser.json"
            known.write_text(json.dumps({**(elsewhere.answers() or {}), **changes}))
            session = Session(identity, elsewhere.port, scratch, Program(str(known), ""), "chromium-remote")
            stack.callback(session.close)
            return session

        yield begin


def test_a_browser_stays_as_it_was_and_no_name_is_used_twice_even_after_a_restart(
    elsewhere: Elsewhere, drive: Callable[..., Session], identity: Identity, page: Content
) -> None:
    flags = elsewhere.flags(identity, names=3)
    elsewhere.start(flags)
    asked = []
    with quic_go("h3", elsewhere.port, page.root, identity) as server:
        for _ in range(2):
            session = drive()
            lines = session.run(phases=page.phases)
            assert lines[-1] == {"event": "done", "ok": True}
            asked.append(next(line["url"] for line in lines if line["event"] == "page"))
            assert session.finish() == 0
        wait_for(lambda: len(server.connections) == 2, "the server's lines on both loads")
        wait_for(lambda: elsewhere.marks() == 2, "the browser's cookies on its disk", 60)
        elsewhere.end()
        elsewhere.start(flags)
        session = drive()
        lines = session.run(phases=page.phases)
        asked.append(next(line["url"] for line in lines if line["event"] == "page"))
        assert len(set(asked)) == 3
        (spent,) = session.run(phases=page.phases)
        assert "all 3 names for QUIC" in spent["reason"]
        assert spent["disturbed"] is True
        assert session.process.wait(20) == 1
    assert elsewhere.answers() is not None


def test_resumption_without_early_data_over_quic_needs_a_browser_that_was_started_so(
    elsewhere: Elsewhere, drive: Callable[..., Session], identity: Identity, page: Content
) -> None:
    elsewhere.start(elsewhere.flags(identity))
    session = drive()
    error, done = session.run(connection="resumed")
    assert (error["supported"], done["ok"]) == (False, False)
    assert "started with early data" in error["reason"]
    with quic_go("h3", elsewhere.port, page.root, identity) as server:
        assert session.run(connection="0rtt", phases=page.phases)[-1]["ok"]
    assert [line["used_0rtt"] for line in server.connections] == [False, True]


def test_another_browser_than_the_run_began_with_is_refused(
    elsewhere: Elsewhere, drive: Callable[..., Session], identity: Identity
) -> None:
    elsewhere.start(elsewhere.flags(identity))
    session = drive(browser="Chrome/1.2.3.4")
    assert "browser was 'Chrome/1.2.3.4' and is 'Chrome/" in session.first["reason"]
    assert session.process.wait(20) == 1


def test_a_browser_that_was_started_without_the_flags_is_refused_with_their_names(
    elsewhere: Elsewhere, drive: Callable[..., Session]
) -> None:
    elsewhere.start(())
    reason = drive().first["reason"]
    assert "--origin-to-force-quic-on" in reason
    assert "longlook phone" in reason


def test_a_browser_that_preloads_is_refused(
    elsewhere: Elsewhere, drive: Callable[..., Session], identity: Identity
) -> None:
    elsewhere.start(elsewhere.flags(identity), {})
    assert "No preloading" in drive().first["reason"]


def test_a_browser_that_ends_between_two_jobs_ends_the_driver(
    elsewhere: Elsewhere, drive: Callable[..., Session], identity: Identity
) -> None:
    elsewhere.start(elsewhere.flags(identity))
    session = drive()
    assert session.first["event"] == "ready"
    elsewhere.end()
    assert "has gone away" in session.read()["reason"]
    assert session.process.wait(20) == 1
