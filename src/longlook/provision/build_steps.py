"""Runs the steps of builds: children that end with this process, a log that is kept, progress in few lines."""

import contextlib
import os
import re
import signal
import subprocess
import textwrap
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import IO, Any

from longlook.core import MachineError, process_table
from longlook.provision.progress import report_step

LINES_SHOWN = 20
REGISTRY_HINT = "look at the last lines: often the package registry cannot be reached"
_WORDS_SHOWN = 3
_END_WITHIN_S = 10.0
"""How long a child may take after SIGTERM before it is killed."""
_DEAD_WITHIN_S = 10.0
"""How long a process may live after SIGKILL: one that waits for its disk dies when the disk has answered."""


def run(
    command: Sequence[str],
    log: Path | None = None,
    *,
    hint: str = REGISTRY_HINT,
    cwd: Path | None = None,
    env: Mapping[str, str] | None = None,
    each: Callable[[str], None] = lambda _line: None,
    keep_open: int | None = None,
) -> None:
    """Run one step; append its output to `log` if that is given, and call `each` with every line of it.

    Raise MachineError with the end of the output and `hint` if it fails. Whatever ends the waiting (Ctrl-C, SIGTERM, an
    error) ends the step first, with everything it started. `keep_open` is a descriptor that the step inherits. Sources
    that nobody vouches for have their steps run by `confined.run`.
    """
    if log is None:
        report_step(" ".join([Path(command[0]).name, *command[1:_WORDS_SHOWN]]))
    shown: list[str] = []
    with _opened(log) as record, _child(command, cwd, env, keep_open) as child:
        record.write(f"$ {' '.join(command)}\n")
        for line in child.stdout or ():
            if not line.startswith("dlstatus:"):  # apt's percentages, for `each` alone
                record.write(line)
                shown = [*shown[1 - LINES_SHOWN :], line]
            each(line)
        code = child.wait()
    if code != 0:
        tail = "".join(shown).rstrip()
        if "No space left on device" in tail or "Disk quota exceeded" in tail:
            raise MachineError(f"the disk of the cache is full:\n{tail}", "free some, or move it: LONGLOOK_CACHE")
        what = textwrap.shorten(" ".join(command), 120, placeholder=" …")
        where = "" if log is None else f" (log: {log})"
        raise MachineError(f"{what} failed with exit code {code}:\n{tail}", f"{hint}{where}")


def _opened(log: Path | None) -> IO[str]:
    return Path(os.devnull if log is None else log).open("a")


@contextlib.contextmanager
def _child(
    command: Sequence[str], cwd: Path | None, env: Mapping[str, str] | None, keep_open: int | None
) -> Iterator[subprocess.Popen[str]]:
    """Start a child in a process group of its own; the group is ended when the block is left."""
    try:
        child = subprocess.Popen(
            command,
            cwd=cwd,
            env=env,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            errors="replace",
            pass_fds=() if keep_open is None else (keep_open,),
            start_new_session=True,  # a terminal's Ctrl-C reaches only this process, which ends the group in order
        )
    except FileNotFoundError as error:
        raise MachineError(f"{command[0]} is not installed", "install it and run this again") from error
    try:
        yield child
    except BaseException:
        try:
            _signal_group(child, signal.SIGTERM)  # make removes unfinished files
            child.wait(_END_WITHIN_S)
        finally:  # also where it does not end, or a second Ctrl-C cuts the waiting short
            end_group(child)
        raise
    finally:
        if child.stdout is not None:
            child.stdout.close()


def end_group(child: subprocess.Popen[Any]) -> None:
    """Kill a child with its process group, which is what it left behind, and return once the last of them is dead."""
    _signal_group(child, signal.SIGKILL)
    child.wait()
    until = time.monotonic() + _DEAD_WITHIN_S
    while time.monotonic() < until and any(
        entry.group == child.pid and not entry.has_ended for entry in process_table().values()
    ):
        time.sleep(0.01)


def _signal_group(child: subprocess.Popen[Any], number: signal.Signals) -> None:
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(child.pid, number)


class BuildProgress:
    """Reports the progress of a step, at most once every `step` percent."""

    def __init__(self, say: Callable[[str], None], what: str, step: int = 5) -> None:
        """Report to `say`, from the first `step` percent on, as `what`."""
        self._say = say
        self._what = what
        self._step = step
        self._reported = 0

    def at(self, percent: float) -> None:
        """Report that `percent` are reached; values below an earlier one are ignored."""
        reached = int(min(percent, 100) // self._step) * self._step
        if reached > self._reported:
            self._reported = reached
            self._say(f"{self._what}: {reached} %")


class ObjectCount:
    """Counts the objects that a kernel's build has compiled, from the lines that make prints."""

    def __init__(self, progress: BuildProgress, expected: int, already: int = 0) -> None:
        """Count up to `expected` objects, of which `already` were there before."""
        self._progress = progress
        self._expected = expected
        self.done = already

    def see(self, line: str) -> None:
        """Evaluate one line of make's output."""
        if re.match(r"  (CC|AS) ", line):
            self.done += 1
            self._progress.at(min(99.0, 100 * self.done / self._expected))
