"""Record a terminal in which Longlook is used, as an animated SVG: `python -m scripts.recording`.

The commands of SESSION run for real in a pseudo-terminal, in an empty folder beside the checkout's `docs`, and a
terminal emulator (pyte) shows what they print. Each change of the screen is a frame. A command that took longer than
COMMAND_S is played faster, and the drawing says so. Readers whose systems ask for no motion, and programs
that do not animate, see the last frame.
"""

import argparse
import codecs
import fcntl
import os
import pty
import select
import shlex
import struct
import subprocess
import sys
import tempfile
import termios
import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from html import escape
from pathlib import Path

import pyte

from longlook.report.charts.colours import INK_SOFT, RULE

ROOT = Path(__file__).parents[1]
DRAWING = ROOT / "docs" / "pictures" / "first-verdict.svg"
COLUMNS, ROWS = 112, 34
SESSION = (
    "longlook compare quic-go@0.65.0 quic-go@0.65.0+docs/data/patches/initial-window-4.patch "
    "--on 10mbit,36ms --gate 5%",
    "longlook run demo --only client=quic-go --only size=1MB --out runs/first",
    "longlook explain runs/first 50Mbit,1MB",
)
"""The commands that are typed; README has the first of them."""

PROMPT = "$ "
KEYS, KEYS_S, LINE_S, READ_S = 4, 0.09, 0.6, 5.0
"""Keys that are typed between two frames and the time they take, the wait before Enter, and behind a command's end."""
COMMAND_S, FRAME_S = 6.0, 0.25
"""How long a command takes at most when it is played, and the least time between two of its frames."""
LONGEST_COMMAND_S = 1800.0

CELL_PX, LINE_PX, PAD_PX = 7.8, 17.0, 14.0
FONT_PX = 13
PAPER, INK = "#1b1d21", "#e4e2dd"
COLOURS = {
    "red": "#f28b82",
    "green": "#8fce9c",
    "brown": "#e5c07b",
    "blue": "#82b1ff",
    "magenta": "#d7a1e6",
    "cyan": "#7fd3d8",
    "white": INK,
    "brightblack": "#8d8a84",
    "black": "#8d8a84",
}
"""The colours of a terminal by pyte's names, legible on PAPER."""


@dataclass(frozen=True)
class Run:
    """Characters of one line that look alike. `colour` is CSS; `column` is the place of the first of them."""

    column: int
    text: str
    colour: str = INK
    bold: bool = False


Line = tuple[Run, ...]


@dataclass(frozen=True)
class Frame:
    """The screen from `at_s` on."""

    at_s: float
    lines: tuple[Line, ...]


def screen_lines(screen: pyte.Screen) -> tuple[Line, ...]:
    """Return what a terminal shows, without blank ends of lines."""
    return tuple(tuple(_runs(screen, row)) for row in range(screen.lines))


def _runs(screen: pyte.Screen, row: int) -> Iterator[Run]:
    found: Run | None = None
    for column in range(screen.columns):
        cell = screen.buffer[row][column]
        if not cell.data:  # the second half of a wide character
            continue
        colour = COLOURS.get(cell.fg, INK if cell.fg == "default" else f"#{cell.fg}")
        if found is not None and (found.colour, found.bold) == (colour, cell.bold):
            found = replace(found, text=found.text + cell.data)
            continue
        if found is not None and found.text.strip():
            yield found
        found = Run(column, cell.data, colour, cell.bold)
    if found is not None and found.text.strip():
        yield replace(found, text=found.text.rstrip())


def quickened(frames: Sequence[Frame], longest_s: float) -> list[Frame]:
    """Return the frames of a command played faster, so that it takes `longest_s` at most, with FRAME_S between two."""
    began_s = frames[0].at_s
    factor = min(1.0, longest_s / max(frames[-1].at_s - began_s, longest_s))
    kept = [frames[0]]
    for frame in frames[1:]:
        moved = Frame(round(began_s + (frame.at_s - began_s) * factor, 3), frame.lines)
        if moved.lines == kept[-1].lines:
            continue
        if len(kept) > 1 and moved.at_s - kept[-1].at_s < FRAME_S:
            moved = replace(moved, at_s=kept.pop().at_s)
        kept.append(moved)
    return kept


def drawing(frames: Sequence[Frame], lasts_s: float) -> str:
    """Return the animated SVG. Equal lines are drawn once and used by every frame that shows them."""
    width, height = COLUMNS * CELL_PX + 2 * PAD_PX, ROWS * LINE_PX + 2 * PAD_PX + LINE_PX
    known: dict[Line, str] = {}
    for frame in frames:
        for line in filter(None, frame.lines):
            known.setdefault(line, f"l{len(known)}")
    steps = "".join(
        f"{frame.at_s / lasts_s * 100 if number else 0:.3f}%{{transform:translateX({-number * width:.1f}px)}}"
        for number, frame in enumerate(frames)
    )
    last = -(len(frames) - 1) * width
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:.1f} {height:.1f}" '
        f'width="{width:.1f}" height="{height:.1f}" role="img">',
        "<title>A terminal: longlook judges a patch, races QUIC and TCP, and explains why TCP lost</title>",
        f"<style>text{{font:{FONT_PX}px 'DejaVu Sans Mono','Liberation Mono',Menlo,Consolas,monospace;"
        f"white-space:pre}}.b{{font-weight:bold}}#s{{transform:translateX({last:.1f}px);"
        f"animation:play {lasts_s:.2f}s steps(1,end) infinite}}"
        f"@keyframes play{{{steps}}}"
        "@media (prefers-reduced-motion:reduce){#s{animation:none}}</style><defs>",
        *(f'<g id="{name}">{"".join(map(_text, line))}</g>' for line, name in known.items()),
        f'</defs><rect width="100%" height="100%" rx="8" fill="{PAPER}"/><g id="s">',
    ]
    for number, frame in enumerate(frames):
        uses = "".join(
            f'<use href="#{known[line]}" y="{PAD_PX + row * LINE_PX:.0f}"/>'
            for row, line in enumerate(frame.lines)
            if line
        )
        parts.append(f'<g transform="translate({number * width + PAD_PX:.1f})">{uses}</g>')
    words = f"recorded by scripts/recording.py; commands that took longer are played in {COMMAND_S:g} s"
    parts.append(
        f'</g><line x1="0" x2="{width:.1f}" y1="{height - LINE_PX - 6:.1f}" y2="{height - LINE_PX - 6:.1f}" '
        f'stroke="{INK_SOFT}"/><text x="{PAD_PX}" y="{height - 8:.1f}" fill="{RULE}">{escape(words)}</text></svg>'
    )
    return "\n".join(parts) + "\n"


def _text(run: Run) -> str:
    place = f'x="{run.column * CELL_PX:.1f}" y="{FONT_PX}" textLength="{len(run.text) * CELL_PX:.1f}"'
    bold = ' class="b"' if run.bold else ""
    return f'<text {place}{bold} fill="{run.colour}">{escape(run.text, quote=False)}</text>'


def recorded(commands: Iterable[str], folder: Path) -> tuple[list[Frame], float]:
    """Return the frames of commands that are typed and run in `folder`, and how long all lasts, in seconds.

    Raises CalledProcessError if a command ends in another way than with an answer (exit codes 0 and 1).
    """
    screen = pyte.Screen(COLUMNS, ROWS)
    stream = pyte.Stream(screen)
    frames: list[Frame] = []
    at_s = 0.0

    for command in commands:
        stream.feed(PROMPT)
        for first in range(0, len(command), KEYS):
            stream.feed(command[first : first + KEYS])
            at_s += KEYS_S
            frames.append(Frame(at_s, screen_lines(screen)))
        at_s += LINE_S
        stream.feed("\r\n")
        printed = [Frame(at_s, screen_lines(screen))]
        for text, after_s in _output(command, folder):
            stream.feed(text)
            printed.append(Frame(at_s + after_s, screen_lines(screen)))
        frames += quickened(printed, COMMAND_S)
        at_s = frames[-1].at_s + READ_S
    return frames, at_s


def _output(command: str, folder: Path) -> Iterator[tuple[str, float]]:
    """Yield what a command prints on a terminal of COLUMNS by ROWS, with the time since it began."""
    main, other = pty.openpty()
    fcntl.ioctl(other, termios.TIOCSWINSZ, struct.pack("HHHH", ROWS, COLUMNS, 0, 0))
    environment = {**os.environ, "TERM": "xterm-256color", "COLUMNS": str(COLUMNS), "LINES": str(ROWS)}
    environment["PATH"] = f"{Path(sys.executable).parent}:{environment['PATH']}"
    began_s = time.monotonic()
    words = shlex.split(command)
    process = subprocess.Popen(
        words, cwd=folder, env=environment, stdin=other, stdout=other, stderr=other, start_new_session=True
    )
    os.close(other)
    decode = codecs.getincrementaldecoder("utf-8")("replace").decode
    try:
        while (passed_s := time.monotonic() - began_s) < LONGEST_COMMAND_S:
            if not select.select([main], [], [], 1.0)[0]:
                continue
            try:
                data = os.read(main, 1 << 16)
            except OSError:  # the terminal has no other end any more
                break
            if not data:
                break
            yield decode(data), passed_s
    finally:
        os.close(main)
        if process.poll() is None and time.monotonic() - began_s >= LONGEST_COMMAND_S:
            process.kill()
        code = process.wait()
    if code not in {0, 1}:
        raise subprocess.CalledProcessError(code, words)


def main() -> None:
    """Record SESSION and write the drawing."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("out", nargs="?", type=Path, default=DRAWING)
    out = parser.parse_args().out
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "docs").symlink_to(ROOT / "docs")
        frames, lasts_s = recorded(SESSION, Path(folder))
    out.write_text(drawing(frames, lasts_s))


if __name__ == "__main__":
    main()
