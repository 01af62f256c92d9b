"""Excerpts of what a program wrote to standard error, for the reason of a trial that failed."""

import os
from pathlib import Path

_TAIL_BYTES = 1 << 16
_LINES = 3
_LONGEST_CHARACTERS = 300
_BEGINNINGS = ("panic: ", "fatal error: ", "thread '")
"""Go and Rust print the cause first and a trace of the stack after it; other programs print the cause last."""


def read_excerpt(path: Path) -> str:
    """Return an excerpt of a file of standard error; "" where the file is missing or empty."""
    try:
        with path.open("rb") as file:
            file.seek(max(0, os.fstat(file.fileno()).st_size - _TAIL_BYTES))
            return excerpt(file.read().decode(errors="replace"))
    except OSError:
        return ""


def excerpt(text: str) -> str:
    """Return at most three lines, joined by " | ", that are most likely to name the cause of a program's end.

    These are the lines from the last panic of Go or Rust on, else the last lines. Blank lines do not count, and the
    result has at most 300 characters.
    """
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    panics = [number for number, line in enumerate(lines) if line.startswith(_BEGINNINGS)]
    chosen = lines[panics[-1] : panics[-1] + _LINES] if panics else lines[-_LINES:]
    joined = " | ".join(chosen)
    if len(joined) <= _LONGEST_CHARACTERS:
        return joined
    return f"{joined[:_LONGEST_CHARACTERS]} …" if panics else f"… {joined[-_LONGEST_CHARACTERS:]}"
