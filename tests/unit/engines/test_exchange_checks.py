"""What a guest left is taken over before it is read, and nothing that is no file is believed."""

import os
import socket
import stat
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from syrupy.assertion import SnapshotAssertion

from longlook.engines.virtual.exchange_checks import Bounds, take_over, too_much

CONSOLE = "console.log"
SMALL = Bounds(trials=1, byte_count=1 << 20, files=20, console_bytes=1 << 16)


@pytest.fixture
def exchange(tmp_path: Path) -> Path:
    """Of a guest that finished one trial."""
    (tmp_path / "0").mkdir()
    (tmp_path / "0" / "run.json").write_text("{}")
    (tmp_path / CONSOLE).write_text("")
    return tmp_path


def test_files_and_folders_become_longlooks_own(exchange: Path) -> None:
    program, folder = exchange / "0" / "run.json", exchange / "0"
    program.chmod(0o6777)
    folder.chmod(0o1777)
    if os.geteuid() == 0:
        os.chown(program, 65500, 65500)
    assert take_over(exchange, CONSOLE, SMALL) is None
    state = program.stat()
    assert (stat.S_IMODE(state.st_mode), state.st_uid) == (0o644, os.geteuid())
    assert stat.S_IMODE(folder.stat().st_mode) == 0o755


def _pipe(path: Path) -> None:
    os.mkfifo(path)


def _socket(path: Path) -> None:
    with socket.socket(socket.AF_UNIX) as made:
        made.bind(str(path))


TRAPS: dict[str, Callable[[Path], None]] = {
    "a link": lambda path: path.symlink_to("/etc/shadow"),
    "a pipe": _pipe,
    "a socket": _socket,
}


@pytest.mark.parametrize("kind", list(TRAPS))
@pytest.mark.parametrize("place", ["0/run.json", CONSOLE, "0/deep/qlog"])
def test_what_is_no_file_is_named(exchange: Path, kind: str, place: str) -> None:
    path = exchange / place
    path.parent.mkdir(exist_ok=True)
    path.unlink(missing_ok=True)
    TRAPS[kind](path)
    assert take_over(exchange, CONSOLE, SMALL) == f"the guest left something that is no file: {place} is {kind}"


def test_a_file_with_a_second_name_is_refused(exchange: Path) -> None:
    (exchange / "other").hardlink_to(exchange / "0" / "run.json")
    assert "has 2 names" in (take_over(exchange, CONSOLE, SMALL) or "")


def test_nothing_behind_a_link_to_a_folder_is_touched(
    exchange: Path, tmp_path_factory: pytest.TempPathFactory, snapshot: SnapshotAssertion
) -> None:
    elsewhere = tmp_path_factory.mktemp("elsewhere")
    elsewhere.chmod(0o700)
    (elsewhere / "file").write_text("")
    (elsewhere / "file").chmod(0o600)
    (exchange / "1").symlink_to(elsewhere)
    assert take_over(exchange, CONSOLE, SMALL) == snapshot
    assert stat.S_IMODE(elsewhere.stat().st_mode) == 0o700
    assert stat.S_IMODE((elsewhere / "file").stat().st_mode) == 0o600


def test_folders_without_end_are_refused(exchange: Path, snapshot: SnapshotAssertion) -> None:
    (exchange / "/".join(["deep"] * 40)).mkdir(parents=True)
    assert (take_over(exchange, CONSOLE, replace(SMALL, files=100)) or "") == snapshot
    assert too_much(exchange, CONSOLE, replace(SMALL, files=100)) is None


def test_too_much_is_named_while_the_guest_runs_and_afterwards(exchange: Path, snapshot: SnapshotAssertion) -> None:
    assert too_much(exchange, CONSOLE, SMALL) is None
    os.truncate(exchange / CONSOLE, 1 << 17)
    assert too_much(exchange, CONSOLE, SMALL) == snapshot
    os.truncate(exchange / CONSOLE, 0)
    for number in range(20):
        (exchange / str(number)).mkdir(exist_ok=True)
    assert take_over(exchange, CONSOLE, SMALL) == snapshot
    assert too_much(exchange, CONSOLE, replace(SMALL, trials=2)) is None
    os.truncate(exchange / "0" / "run.json", 3 << 20)
    assert too_much(exchange, CONSOLE, replace(SMALL, trials=2)) == snapshot
