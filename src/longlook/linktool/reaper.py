"""A small process that outlives `longlook link` by as much as it takes to clear up after it, should it be killed.

It is forked, not started: it needs nothing but a pipe that hangs up, the record, and the namespaces inside, which it
holds so that their numbers in the record mean them and no later ones.
"""

import os
import signal
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import NoReturn

from longlook.linktool.processes import end_all
from longlook.linktool.record import LinkRecord, read_record

_DONE = b"done"
_GRACE_S = 1.0
_IGNORED = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT, signal.SIGTSTP, signal.SIGPIPE)


class Reaper:
    """Watches over this process from its construction until `dismiss`."""

    def __init__(self, record: LinkRecord, inside: Sequence[int]) -> None:
        listen, self._pipe = os.pipe2(os.O_CLOEXEC)
        self._pid = os.fork()
        if self._pid == 0:
            _stand_guard(listen, record.path, inside)
        os.close(listen)

    def dismiss(self) -> None:
        """To be called once everything has been cleared up."""
        with suppress(BrokenPipeError):  # somebody killed it
            os.write(self._pipe, _DONE)
        os.close(self._pipe)
        os.waitpid(self._pid, 0)


def _stand_guard(listen: int, record: Path, inside: Sequence[int]) -> NoReturn:
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
