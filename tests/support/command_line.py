"""The command line as tests use it: `longlook` as a program of its own, or called in this process."""

import contextlib
import io
import os
import signal
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from unittest import mock

from longlook.cli import main
from longlook.core import registry

LONGLOOK = (sys.executable, "-m", "longlook")


def longlook(*arguments: str, **options: object) -> "subprocess.CompletedProcess[str]":
    """Run the command in a process of its own, for tests of runs, signals and what a process leaves.

    The test's own time limit bounds it: on a busy machine a run takes as long as it takes.
    """
    return subprocess.run(  # type: ignore[call-overload,no-any-return]
        [*LONGLOOK, *arguments], capture_output=True, text=True, check=False, **options
    )


@dataclass(frozen=True)
class Answer:
    """The output of a call of the command, and its exit code."""

    returncode: int
    stdout: str
    stderr: str


def call_longlook(*arguments: str, cwd: Path | None = None, env: Mapping[str, str] | None = None) -> Answer:
    """Call the command in this process: the same code without two seconds of imports.

    An exception that the command does not turn into an exit code fails the test, as its traceback would.
    """
    out, errors = io.StringIO(), io.StringIO()
    on_sigterm = signal.getsignal(signal.SIGTERM)
    with (
        contextlib.chdir(cwd or Path.cwd()),
        mock.patch.dict(os.environ, env if env is not None else os.environ, clear=True),
        mock.patch.object(sys, "argv", ["longlook", *arguments]),
        contextlib.redirect_stdout(out),
        contextlib.redirect_stderr(errors),
    ):
        registry.forget()
        try:
            main()
            code: object = 0
        except SystemExit as end:
            code = end.code or 0
        finally:
            signal.signal(signal.SIGTERM, on_sigterm)
    registry.forget()
    assert isinstance(code, int), code
    return Answer(code, out.getvalue(), errors.getvalue())
