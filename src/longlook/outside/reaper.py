"""A small process that cleans up after `longlook link` if that is killed.

It is forked, not started: it needs only a pipe whose other end closes, the record, and the inner namespaces. It holds
those open, so that their numbers in the record cannot come to mean later ones.
"""

import os
import signal
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import NoReturn

from longlook.outside.processes import end_all
from longlook.outside.record import LinkRecord, read_record

_DONE = b"done"
_GRACE_S = 1.0
_IGNORED = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT, signal.SIGTSTP, signal.SIGPIPE)


class Reaper:
    """Watch over this process from construction until `dismiss`."""

    def __init__(self, record: LinkRecord, inside: Sequence[int]) -> None:
        listen, self._pipe = os.pipe2(os.O_CLOEXEC)
        self._pid = os.fork()
        if self._pid == 0:
            _wait_for_end(listen, record.path, inside)
        os.close(listen)

    def dismiss(self) -> None:
        """End the reaper; call it once everything has been cleaned up."""
        with suppress(BrokenPipeError):  # it was killed
            os.write(self._pipe, _DONE)
        os.close(self._pipe)
        os.waitpid(self._pid, 0)


def _wait_for_end(listen: int, record: Path, inside: Sequence[int]) -> NoReturn:
    try:
        for number in _IGNORED:
            signal.signal(number, signal.SIG_IGN)
        os.setsid()
        _keep_only(listen, *inside)
        if os.read(listen, len(_DONE)) != _DONE:
            for namespace in inside:
                end_all(os.fstat(namespace).st_ino, _GRACE_S)
            if (left := read_record(record)) is not None:
                left.release()
    finally:
        os._exit(0)


def _keep_only(*kept: int) -> None:
    """Close everything else: an open pipe of the command's output would keep its reader waiting."""
    nowhere = os.open(os.devnull, os.O_RDWR)
    for standard in range(3):
        os.dup2(nowhere, standard)
    for name in os.listdir("/proc/self/fd"):  # noqa: PTH208
        if int(name) > 2 and int(name) not in kept:
            with suppress(OSError):
                os.close(int(name))
