"""What a terminal is given: text as it was written, and no control character but those of our own styles."""

import os
import pty
import subprocess
from contextlib import suppress
from io import StringIO
from pathlib import Path

import pytest
from rich.table import Table
from rich.text import Text
from syrupy.assertion import SnapshotAssertion

from longlook.terminal.console import PlainConsole, output_console
from tests.support.command_line import LONGLOOK, call_longlook

TINY = Path(__file__).parents[2] / "data" / "tiny.toml"
HOSTILE = "[bold red]x[/bold red][/] :smile: \x1b]0;title\x1b[2J [link=http://x]y[/link]"
SHOWN = r"[bold red]x[/bold red][/] :smile: \x1b]0;title\x1b[2J [link=http://x]y[/link]"


def test_text_is_printed_as_it_was_written(capsys: pytest.CaptureFixture[str]) -> None:
    output_console().print(HOSTILE)
    output_console().print(Text(HOSTILE, "red"))
    table = Table(HOSTILE, box=None)
    table.add_row(HOSTILE)
    output_console().print(table)
    written = capsys.readouterr().out
    assert "\x1b" not in written
    assert written.count(SHOWN) == 2  # cells are as wide as what they were before
    assert written.count("[bold red]x[/bold red][/] :smile: \\x1b]0;title\\x1b[2J") == 4


def test_a_terminal_gets_the_escapes_of_our_styles_alone() -> None:
    drawn = StringIO()
    PlainConsole(file=drawn, force_terminal=True, color_system="standard", width=200).print(Text(HOSTILE, "red"))
    assert drawn.getvalue() == f"\x1b[31m{SHOWN}\x1b[0m\n"


def test_an_error_names_a_hostile_file_without_obeying_its_name(tmp_path: Path) -> None:
    path = tmp_path / "\x1b[31m[bold].toml"
    path.write_text("schema = 1\n")
    answer = call_longlook("study", "show", str(path))
    assert answer.returncode == 2
    assert r"\x1b[31m[bold].toml" in answer.stderr
    assert "\x1b" not in answer.stderr


def test_a_person_at_a_terminal_is_asked_before_very_many_trials(tmp_path: Path) -> None:
    ours, theirs = pty.openpty()
    command = [*LONGLOOK, "run", str(TINY), "--rounds", "30000", "--out", str(tmp_path / "run")]
    asked = subprocess.Popen(command, stdin=theirs, stdout=theirs, stderr=theirs)
    os.close(theirs)
    os.write(ours, b"n\n")
    printed = b""
    with suppress(OSError):  # the other end of a terminal is gone
        while data := os.read(ours, 4096):
            printed += data
    os.close(ours)
    assert asked.wait() == 2
    assert b"120000 trials: at one second each and " in printed
    assert b"Go on?" in printed
    assert b"--many" in printed
    assert not (tmp_path / "run").exists()


def test_without_a_terminal_very_many_trials_need_their_flag(snapshot: SnapshotAssertion) -> None:
    answer = call_longlook("run", str(TINY), "--rounds", "30000")
    assert answer.returncode == 2
    assert answer.stderr == snapshot


def test_a_study_of_very_many_trials_is_shown() -> None:
    answer = call_longlook("study", "show", str(TINY), "--rounds", "30000", "--json")
    assert answer.returncode == 0
    assert '"trials": 120000' in answer.stdout
    assert '"plan_hash": null' in answer.stdout
