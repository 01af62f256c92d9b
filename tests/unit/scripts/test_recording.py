"""The recorded terminal: what a program printed, played in a bounded time, in one file that draws itself."""

import subprocess
import xml.etree.ElementTree as ET
from pathlib import Path

import pytest
from scripts.recording import COLUMNS, COMMAND_S, DRAWING, FRAME_S, SESSION, Frame, Run, drawing, quickened, recorded

README = Path(__file__).parents[3] / "README.md"
SVG = "{http://www.w3.org/2000/svg}"


def screens(*times_s: float) -> list[Frame]:
    return [Frame(at_s, ((Run(0, str(number)),),)) for number, at_s in enumerate(times_s)]


def test_a_long_command_is_played_faster_and_keeps_its_last_screen() -> None:
    played = quickened(screens(5.0, 20.0, 60.0, 65.0), 6.0)
    assert [frame.at_s for frame in played] == [5.0, 6.5, 10.5, 11.0]
    assert played[-1].lines == ((Run(0, "3"),),)


def test_a_short_command_is_played_as_it_was() -> None:
    assert quickened(screens(0.0, 1.0, 2.0), 6.0) == screens(0.0, 1.0, 2.0)


def test_screens_that_follow_at_once_are_one_frame_and_equal_screens_are_none() -> None:
    first, *moving = screens(0.0, 1.0, 1.0 + FRAME_S / 4, 1.0 + FRAME_S / 2)
    played = quickened([first, *moving, Frame(3.0, moving[-1].lines)], 6.0)
    assert [(frame.at_s, frame.lines[0][0].text) for frame in played] == [(0.0, "0"), (1.0, "3")]


def test_a_terminal_shows_what_a_program_prints(tmp_path: Path) -> None:
    script = tmp_path / "hello.py"
    script.write_text("import sys\nprint('at a terminal' if sys.stdout.isatty() else 'in a pipe')\n")
    frames, lasts_s = recorded(["python hello.py"], tmp_path)
    lines = ["".join(run.text for run in line) for line in frames[-1].lines]
    assert lines[:2] == ["$ python hello.py", "at a terminal"]
    assert lasts_s > frames[-1].at_s


def test_a_program_that_fails_is_no_recording(tmp_path: Path) -> None:
    (tmp_path / "wrong.py").write_text("raise SystemExit(2)\n")
    with pytest.raises(subprocess.CalledProcessError):
        recorded(["python wrong.py"], tmp_path)


def test_the_drawing_is_an_image_by_itself_whatever_a_program_prints() -> None:
    line = (Run(0, "</style><script>&'\""), Run(30, "red", "#f28b82", bold=True))
    frames = [Frame(0.0, ((), line)), Frame(1.0, (line, line))]
    root = ET.fromstring(drawing(frames, 2.0))
    assert [text.text for text in root.iter(f"{SVG}text")][:2] == ["</style><script>&'\"", "red"]
    assert len(list(root.iter(f"{SVG}use"))) == 3
    assert drawing(frames, 2.0) == drawing(frames, 2.0)


def test_the_recording_is_of_the_commands_that_are_declared() -> None:
    readme, recording = README.read_text(), DRAWING.read_text()
    assert f"docs/pictures/{DRAWING.name}" in readme
    assert SESSION[0] in readme
    for command in SESSION:
        wide = command[: COLUMNS - 2]
        assert wide.replace("&", "&amp;") in recording, f"record it again: python -m scripts.recording ({command})"
    assert f"played in {COMMAND_S:g} s" in recording
