"""A run that goes on without its terminal: in a process of its own session, whose output goes to a file beside the run.

The file `RUN.log` is there before the run folder, which is made when everything is installed. The process locks it, so
that `watch` and `stop` find a run that still installs.
"""

import fcntl
import os
import signal
import sys
import time
from dataclasses import dataclass
from pathlib import Path

from longlook.core import InputError, LonglookError, MachineError, ignore_in_git
from longlook.instruments.runs.holder import holder_of
from longlook.terminal import quoted

_LOG = ".log"
_WAITS_S = 10.0
"""The time in which most mistakes show that only the run itself can find."""
_LOOKS_EVERY_S = 0.1
_TAIL_LINES = 12


@dataclass(frozen=True)
class Detached:
    """A run that was left to itself: its folder, its log and its process."""

    run: Path
    log: Path
    pid: int


def log_of(run: Path) -> Path:
    """Return the file with the output of a detached run."""
    run = run.absolute()
    return run.with_name(f"{run.name}{_LOG}")


def detach(run: Path) -> Detached | None:
    """Let this process go on in a copy without a terminal, which writes to the log of `run`.

    Return None in the copy. In this process, return once the run has begun, or after a few seconds if it still
    installs what trials need. LonglookError, with the exit code of the copy, if the copy has failed by then.
    """
    log = _opened(run)
    sys.stdout.flush()
    sys.stderr.flush()
    began = os.fstat(log).st_size
    pid = os.fork()
    if pid == 0:
        _leave(log)
        return None
    os.close(log)
    left = Detached(run, log_of(run), pid)
    _await_begin(left, began)
    return left


def _opened(run: Path) -> int:
    """Open the log for writing at its end, and make the folder for it; nobody else may have locked it."""
    log = log_of(run)
    try:
        if not log.parent.exists():
            log.parent.mkdir(parents=True)
            ignore_in_git(log.parent)
        flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
        file = os.open(log, flags, 0o644)
    except OSError as error:
        raise MachineError(f"cannot write {log}: {error.strerror}", "choose another --out") from error
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        os.close(file)
        hint = f"longlook watch {quoted(run)}, or another --out"
        raise InputError(f"{run} is in use by another longlook", hint) from error
    fcntl.flock(file, fcntl.LOCK_UN)  # the copy locks it: the kernel names the process that did
    return file


def _leave(log: int) -> None:
    """Leave the terminal and the session, in the copy."""
    fcntl.flock(log, fcntl.LOCK_EX | fcntl.LOCK_NB)
    os.setsid()
    signal.signal(signal.SIGHUP, signal.SIG_IGN)
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.dup2(log, 1)
    os.dup2(log, 2)
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(line_buffering=True)


def _await_begin(left: Detached, began: int) -> None:
    deadline = time.monotonic() + _WAITS_S
    while time.monotonic() < deadline and holder_of(left.run) is None:
        ended, status = os.waitpid(left.pid, os.WNOHANG)
        if ended:
            if code := os.waitstatus_to_exitcode(status):
                raise _failed(left, began, code)
            return
        time.sleep(_LOOKS_EVERY_S)


def _failed(left: Detached, began: int, code: int) -> LonglookError:
    """Return the error of a run that ended at once, with the lines that it wrote."""
    with left.log.open("rb") as file:
        file.seek(began)
        lines = file.read().decode(errors="replace").splitlines()[-_TAIL_LINES:]
    message = "\n".join(line.removeprefix("longlook: ") for line in lines) or f"the run ended with exit code {code}"
    error = LonglookError(message, f"its output is in {left.log}")
    error.exit_code = code if code > 0 else 128 - code
    return error
