"""However a session of the Chromium client ends, and whatever dies under it: nothing is left behind."""

import os
import signal
import socket
from contextlib import closing
from pathlib import Path

import pytest

from longlook.core import registry
from longlook.core.job import Content, Identity, Program
from tests.support.processes import command_line

from .session_harness import HOST, Session, Start, alive, descendants, free_port, of, quic_go, wait_for

pytestmark = [
    pytest.mark.browser,
    pytest.mark.skipif(not registry.get("stacks", "chromium").installed("system"), reason="no Chromium here"),
]


def kill(*pids: int) -> None:
    for pid in pids:
        os.kill(pid, signal.SIGKILL)


def gone(session: Session, processes: set[int]) -> None:
    wait_for(lambda: not alive(processes), f"end of {len(processes)} processes")
    assert list(session.folder.glob("cr-*")) == []


def test_at_the_end_of_input(start: Start) -> None:
    session = start(free_port())
    processes = descendants(session.process.pid)
    assert processes
    assert session.finish() == 0
    gone(session, processes)


def test_with_both_browsers_running(start: Start, identity: Identity, page: Content) -> None:
    port = free_port()
    with quic_go("h3", port, page.root, identity):
        session = start(port)
        assert session.run(connection="resumed", phases=page.phases)[-1]["ok"]
    assert len(session.browsers()) == 2
    processes = descendants(session.process.pid)
    assert session.finish() == 0
    gone(session, processes)


def test_by_sigterm_in_the_middle(start: Start) -> None:
    port = free_port()
    with socket.socket(type=socket.SOCK_DGRAM) as silent:
        silent.bind((HOST, port))
        session = start(port)
        session.send()
        silent.recv(2048)  # the browser is connecting
        processes = descendants(session.process.pid)
        session.process.terminate()
        session.process.terminate()
        assert session.process.wait(20) == 0
    gone(session, processes)


def test_by_the_death_of_the_browser(start: Start) -> None:
    port = free_port()
    with socket.socket(type=socket.SOCK_DGRAM) as silent:
        silent.bind((HOST, port))
        session = start(port)
        session.send()
        silent.recv(2048)
        processes = descendants(session.process.pid)
        (browser,) = session.browsers()
        kill(browser)
        (line,) = session.answer()
        assert line == {"event": "error", "reason": "the browser was killed by SIGKILL"}
        assert session.process.wait(20) == 1
    gone(session, processes)


def test_by_the_death_of_an_idle_browser(start: Start) -> None:
    session = start(free_port())
    processes = descendants(session.process.pid)
    kill(*session.browsers())
    assert session.read()["reason"] == "the browser was killed by SIGKILL"
    assert session.process.wait(20) == 1
    gone(session, processes)


def test_by_sigkill_of_the_driver(start: Start) -> None:
    session = start(free_port())
    processes = descendants(session.process.pid)
    session.process.kill()
    session.process.wait()
    wait_for(lambda: not alive(processes), "end of the browser")


def test_by_a_line_that_is_no_job(start: Start) -> None:
    session = start(free_port())
    processes = descendants(session.process.pid)
    session.send_text('{"protocol": "h3"}')
    assert session.read() == {"event": "error", "reason": "job: `phases` is None, not list"}
    assert session.process.wait(20) == 2
    gone(session, processes)


def test_before_it_began_where_there_is_no_browser(start: Start) -> None:
    session = start(free_port(), Program("/nonexistent/chromium", ""))
    assert session.first["event"] == "error"
    assert "cannot start /nonexistent/chromium" in session.first["reason"]
    assert session.process.wait(20) == 1
    gone(session, set())


def test_before_it_began_where_the_temporary_folder_is_too_deep(identity: Identity, scratch: Path) -> None:
    deep = scratch / ("d" * 80)
    deep.mkdir()
    with closing(Session(identity, free_port(), deep)) as session:
        assert "set TMPDIR to a shorter one" in session.first["reason"]
        assert session.process.wait(20) == 1
    assert list(deep.iterdir()) == []


def test_before_it_began_where_the_browser_does_not_stay(start: Start) -> None:
    session = start(free_port(), Program("/bin/false", ""))
    assert session.first["reason"] == "the browser exited with 1"
    assert session.process.wait(20) == 1
    gone(session, set())


@pytest.mark.slow
def test_by_a_browser_that_hangs(start: Start) -> None:
    port = free_port()
    with socket.socket(type=socket.SOCK_DGRAM) as silent:
        silent.bind((HOST, port))
        session = start(port)
        (browser,) = session.browsers()
        session.send(timeout_s=10.0)  # far more than a busy machine needs to connect, and to stop the browser
        silent.recv(2048)
        os.kill(browser, signal.SIGSTOP)
        processes = descendants(session.process.pid)
        lines = session.answer()
        assert of(lines, "object")[0]["error"].startswith("timed out")
        assert "does not dispose of a context" in lines[-1]["reason"]
        assert session.process.wait(20) == 1
    gone(session, processes)


def test_the_death_of_a_page_costs_its_job_only(start: Start, identity: Identity, page: Content) -> None:
    port = free_port()
    session = start(port)
    with socket.socket(type=socket.SOCK_DGRAM) as silent:
        silent.bind((HOST, port))
        session.send()
        silent.recv(2048)
        kill(*(pid for pid in descendants(session.process.pid) if b"--type=renderer" in command_line(pid)))
        lines = session.answer()
        assert of(lines, "object")[0]["error"] in ("the page's process crashed", "net::ERR_ABORTED")
        assert lines[-1] == {"event": "done", "ok": False}
    with quic_go("h3", port, page.root, identity):
        assert session.run(phases=page.phases)[-1]["ok"]
