"""Leave no process behind: adopt orphans, and end those that remain at the end."""

import contextlib
import ctypes
import os
import select
import signal
import time
from pathlib import Path

_PR_SET_PDEATHSIG = 1
_PR_SET_CHILD_SUBREAPER = 36
_libc = ctypes.CDLL(None, use_errno=True)


def _prctl(option: int, value: int) -> None:
    if _libc.prctl(option, value, 0, 0, 0) != 0:
        raise OSError(ctypes.get_errno(), "prctl")


def adopt_orphans() -> None:
    """Become the parent of every descendant whose own parent ends."""
    _prctl(_PR_SET_CHILD_SUBREAPER, 1)


def die_with_parent() -> None:
    """Have the kernel end this process when its parent ends, even by SIGKILL (called in the child, before exec)."""
    _prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)


def children() -> list[int]:
    """Return the ids of this process's children."""
    me = os.getpid()
    found = []
    for stat in Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(OSError):
            parent = int(stat.read_text().rpartition(")")[2].split()[1])
            if parent == me:
                found.append(int(stat.parent.name))
    return found


def end_children(grace_s: float) -> None:
    """Wait for all children, adopted ones too; those still there after `grace_s` are killed."""
    deadline_s = time.monotonic() + grace_s
    while remaining := children():
        for pid in remaining:
            _end(pid, deadline_s)


def _end(pid: int, deadline_s: float) -> None:
    try:
        handle = os.pidfd_open(pid)
    except ProcessLookupError:
        return
    try:
        left_s = max(0.0, deadline_s - time.monotonic())
        if not select.select([handle], [], [], left_s)[0]:
            signal.pidfd_send_signal(handle, signal.SIGKILL)
        with contextlib.suppress(ChildProcessError):
            os.waitpid(pid, 0)
    finally:
        os.close(handle)
