"""A configuration that the user brings for a server (adapters/CONTRACT.md): how it is read, refused and checked."""

import os
import re
import subprocess
import tempfile
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import TypeVar

from longlook_adapter.errors import BadUsageError

_VARIABLE, _CHECK = "LONGLOOK_SERVER_CONFIG", "LONGLOOK_CHECK_CONFIG"

PLAIN = re.compile(r"[A-Za-z0-9_.-]+")
"""A name that every server reads as it is written."""
UNQUOTED = "write the name without quotes"
ONE_FILE = "the trial is to depend on this one file"

Wrong = tuple[int, str]
"""The number of a line, from 1, and what is wrong with it."""
Form = TypeVar("Form")


class FormError(ValueError):
    """The text has not the form of the server's configurations; `line` is where."""

    def __init__(self, line: int, reason: str) -> None:
        """Take the line, from 1, and what is wrong there."""
        super().__init__(reason)
        self.line = line


def read_own(
    parse: Callable[[str], Form], refusals: Callable[[str, Form], Iterable[Wrong]]
) -> tuple[Path, str, Form] | None:
    """Return the file that the laboratory names, its text and what `parse` makes of it; None if there is none.

    The variable is removed, so that the program does not inherit it. Raise BadUsageError with every line that
    `refusals` yields, or with the line of a FormError.
    """
    if (named := os.environ.pop(_VARIABLE, None)) is None:
        return None
    file = Path(named)
    text = file.read_bytes().decode()
    try:
        form = parse(text)
    except FormError as error:
        raise BadUsageError(f"{file.name}:{error.line}: {error}") from error
    if wrong := sorted({*refusals(text, form)}):
        raise BadUsageError("; ".join(f"{file.name}:{line}: {reason}" for line, reason in wrong))
    return file, text, form


def by_name(reasons: Mapping[str, Iterable[str]]) -> dict[str, str]:
    """Return the reason of each name, from the names of each reason."""
    return {name: reason for reason, names in reasons.items() for name in names}


def set_by_knobs(names: Mapping[str, Iterable[str]], knobs: Iterable[str]) -> dict[str, str]:
    """Return why each name is refused that a knob of the arm sets, too, from the names of each knob."""
    given = {*knobs}
    reasons = {
        f"the study's knob {knob} sets it, too: leave one of them out": own
        for knob, own in names.items()
        if knob in given
    }
    return by_name(reasons)


def ask_server(argv: Sequence[str], env: Mapping[str, str]) -> "subprocess.CompletedProcess[str]":
    """Run a program's own check of a configuration, and return its end and its output."""
    return subprocess.run(
        argv, env={**os.environ, **env}, capture_output=True, encoding="utf-8", errors="replace", check=False
    )


def checked_only(configure: Callable[[Path], object]) -> bool:
    """Return whether the laboratory asks for nothing but a check; `configure` has made it then, in a folder."""
    if os.environ.pop(_CHECK, "") != "1":
        return False
    with tempfile.TemporaryDirectory(prefix="longlook-") as home:
        configure(Path(home))
    return True
