"""Find the processes of a network namespace, and end them."""

import os
import signal
import time
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

from longlook.core import process_table

_POLL_S = 0.01
_KILLED_WITHIN_S = 2.0


def network_of(pid: int | str) -> int:
    """Return the number of a process's network namespace, or 0 if the process is gone or may not be examined."""
    try:
        return Path(f"/proc/{pid}/ns/net").stat().st_ino
    except OSError:
        return 0


def inhabitants(namespace: int) -> set[int]:
    """Return the processes in a network namespace and all their descendants, except this process."""
    table = process_table()
    found = {pid for pid in table if network_of(pid) == namespace}
    while True:
        more = {pid for pid, entry in table.items() if entry.parent in found} - found
        if not more:
            return found - {os.getpid()}
        found |= more


def end_all(namespace: int, within_s: float) -> None:
    """Send SIGTERM to all processes of a namespace that the caller holds open, and SIGKILL to those left in the end."""
    asked = inhabitants(namespace)
    _send(asked, signal.SIGTERM)
    _send(asked, signal.SIGCONT)  # a stopped program can then obey
    deadline = time.monotonic() + within_s
    while (left := inhabitants(namespace)) and time.monotonic() < deadline:
        _send(left - asked, signal.SIGTERM)
        asked |= left
        time.sleep(_POLL_S)
    deadline = time.monotonic() + _KILLED_WITHIN_S
    while (left := inhabitants(namespace)) and time.monotonic() < deadline:
        kill_all(left)
        time.sleep(_POLL_S)


def kill_all(pids: Iterable[int]) -> None:
    """Send SIGKILL to each process."""
    _send(pids, signal.SIGKILL)


def _send(pids: Iterable[int], number: signal.Signals) -> None:
    for pid in pids:
        with suppress(ProcessLookupError, PermissionError):
            os.kill(pid, number)
