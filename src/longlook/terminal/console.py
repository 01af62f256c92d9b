"""Standard output and error for people, for pipes and for machines."""

import json
import shlex
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from rich.console import Console, ConsoleOptions, RenderableType
from rich.segment import Segment

from longlook.core import visible

PIPE_COLUMNS = 200
"""Width of tables if standard output is no terminal, so that rows stay lines."""


class PlainConsole(Console):
    """A console that shows text as it is: no markup in it, no emoji codes, and no control character reaches the
    terminal. Only the code that prints has styles, as `Text`.
    """

    def __init__(self, **options: Any) -> None:
        """Take the options of rich's console."""
        super().__init__(highlight=False, markup=False, emoji=False, **options)

    def render(self, renderable: RenderableType, options: ConsoleOptions | None = None) -> Iterable[Segment]:
        """Yield what is to be written, with the control characters of texts made visible."""
        for segment in super().render(renderable, options):
            text, style, control = segment
            yield segment if control else Segment(visible(text), style)


def output_console() -> Console:
    """Return a console with colour and the terminal's width, or plain and wide in a pipe."""
    return PlainConsole(width=None if sys.stdout.isatty() else PIPE_COLUMNS)


def error_console() -> Console:
    """Return the console of error messages, which are never wrapped."""
    return PlainConsole(stderr=True, soft_wrap=True)


def print_json(data: Any) -> None:
    """Print one JSON document on standard output."""
    sys.stdout.write(json.dumps(data, indent=1, allow_nan=False) + "\n")


def quoted(path: Path) -> str:
    """Return a path as a shell takes it, for commands that a user is to copy."""
    return shlex.quote(str(path))


def duration(seconds: float) -> str:
    """Return `2 h 5 min`, `3 min` or `40 s`."""
    from longlook.run import print_seconds  # here, as `--help` needs no run

    return print_seconds(seconds)
