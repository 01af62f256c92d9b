"""The traces of a session client that does with its folder what it likes."""

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from longlook.core.model import Capture
from longlook.lab.session_traces import SessionTraces
from tests.support.swapping import swapping

EVENTS = '{"constants":{},\n"events": [\n'


@pytest.fixture
def session(tmp_path: Path) -> Any:
    """A session client's folder and its standard error, without a client."""
    folder = tmp_path / "session-1"
    for name in ("qlog", "netlog"):
        (folder / name).mkdir(parents=True)
    (tmp_path / "session-1.stderr").write_text("")
    return SimpleNamespace(
        folder=folder,
        stderr=tmp_path / "session-1.stderr",
        keylog=folder / "keys.log",
        netlogs=folder / "netlog",
        capture=Capture(qlog=True, netlog=True, keylog=True),
    )


def taken(traces: SessionTraces, folder: Path) -> dict[str, str]:
    folder.mkdir()
    traces.copy_to(folder)
    return {str(path.relative_to(folder)): path.read_text() for path in folder.rglob("*") if path.is_file()}


def test_a_trial_has_what_is_new_since_it_began(session: Any, tmp_path: Path) -> None:
    session.stderr.write_text("before\n")
    session.keylog.write_text("OLD\n")
    (session.netlogs / "log.json").write_text(EVENTS + '{"time":1},\n')
    (session.folder / "qlog" / "old.qlog").write_text("old")
    traces = SessionTraces(session)
    for path, text in (
        (session.stderr, "now\n"),
        (session.keylog, "NEW\n"),
        (session.netlogs / "log.json", '{"time":2},\n{"time":3'),
    ):
        with path.open("a") as file:
            file.write(text)
    (session.folder / "qlog" / "deep").mkdir()
    (session.folder / "qlog" / "deep" / "new.sqlog").write_text("new")
    assert taken(traces, tmp_path / "trial") == {
        "client.stderr": "now\n",
        "keys.log": "NEW\n",
        "netlog.json": EVENTS + '{"time":2}\n]}\n',
        "qlog/client/new.sqlog": "new",
    }


def test_a_client_that_swaps_folders_for_links_shows_nothing_of_the_host(session: Any, tmp_path: Path) -> None:
    for name, text in (("qlog/trace.qlog", "secret"), ("netlog/log.json", EVENTS + '{"secret":1},\n')):
        host = tmp_path / "host" / name
        host.parent.mkdir(parents=True)
        host.write_text(text)
        (session.folder / name).write_text(text.replace("secret", "own"))
        (session.folder / f"link-{host.parent.name}").symlink_to(host.parent)
    (session.folder / "keys.log").symlink_to(tmp_path / "host" / "qlog" / "trace.qlog")
    traces = SessionTraces(session)
    traces._before.clear()
    with swapping(session.folder, "qlog", "netlog"):
        found = [taken(traces, tmp_path / f"trial-{number}") for number in range(100)]
    assert not [text for files in found for text in files.values() if "secret" in text]
