"""The processes of a network namespace, and their end."""

import os
import signal
import time
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

from longlook.lab.linux.proctable import process_table

_POLL_S = 0.01
_KILLED_WITHIN_S = 2.0


def network_of(pid: int | str) -> int:
    """Number of the network namespace that a process is in; 0 for one that is gone or not ours to see."""
    try:
        return Path(f"/proc/{pid}/ns/net").stat().st_ino
    except OSError:
        return 0


def inhabitants(namespace: int) -> set[int]:
    """Processes in a network namespace and all that descend from them, as of now; never this one."""
    table = process_table()
    found = {pid for pid in table if network_of(pid) == namespace}
    while True:
        more = {pid for pid, entry in table.items() if entry.parent in found} - found
        if not more:
            return found - {os.getpid()}
        found |= more


def end_all(namespace: int, within_s: float) -> None:
    """SIGTERM to everything in a namespace, which the caller holds open, and SIGKILL to what is left after a time."""
    told = inhabitants(namespace)
    _send(told, signal.SIGTERM)
    _send(told, signal.SIGCONT)  # a stopped program can then obey
    deadline = time.monotonic() + within_s
    while (left := inhabitants(namespace)) and time.monotonic() < deadline:
        _send(left - told, signal.SIGTERM)
        told |= left
        time.sleep(_POLL_S)
    deadline = time.monotonic() + _KILLED_WITHIN_S
    while (left := inhabitants(namespace)) and time.monotonic() < deadline:
        kill_all(left)
        time.sleep(_POLL_S)


def kill_all(pids: Iterable[int]) -> None:
    """SIGKILL to each of them."""
    _send(pids, signal.SIGKILL)


def _send(pids: Iterable[int], number: signal.Signals) -> None:
    for pid in pids:
        with suppress(ProcessLookupError, PermissionError):
            os.kill(pid, number)
