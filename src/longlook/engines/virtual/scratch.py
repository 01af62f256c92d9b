"""Boxes outside of a run folder, which nothing clears but who made them, or the next who makes one."""

import fcntl
import os
import shutil
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

_PREFIX = "longlook-exchange-"
_YOUNG_S = 60.0  # it may not be locked yet


@contextmanager
def exchange_directory() -> Iterator[Path]:
    """An empty folder, gone afterwards; those that killed processes left are removed too."""
    _clear()
    with tempfile.TemporaryDirectory(prefix=_PREFIX) as name:
        lock = os.open(name, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            fcntl.flock(lock, fcntl.LOCK_EX)  # let go by the kernel when we die
            yield Path(name)
        finally:
            os.close(lock)


def _clear() -> None:
    for path in Path(tempfile.gettempdir()).glob(f"{_PREFIX}*"):
        with suppress(OSError):  # somebody else's, or gone
            if time.time() - path.stat().st_mtime < _YOUNG_S:
                continue
            lock = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                shutil.rmtree(path, ignore_errors=True)
            finally:
                os.close(lock)
