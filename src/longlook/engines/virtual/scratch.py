"""Exchange directories outside of a run folder: removed by their maker, or by the next one where that was killed."""

import fcntl
import os
import shutil
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

_PREFIX = "longlook-exchange-"
_PREFIXES = (_PREFIX, "longlook-box-")  # the second is that of versions before 2026-11-22
_YOUNG_S = 60.0  # it may not be locked yet


@contextmanager
def exchange_directory() -> Iterator[Path]:
    """Yield an empty folder and remove it afterwards; first remove those that killed processes left."""
    _clear()
    with tempfile.TemporaryDirectory(prefix=_PREFIX) as name:
        lock = os.open(name, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            fcntl.flock(lock, fcntl.LOCK_EX)  # the kernel releases it when this process dies
            yield Path(name)
        finally:
            os.close(lock)


def _clear() -> None:
    folder = Path(tempfile.gettempdir())
    for path in (path for prefix in _PREFIXES for path in folder.glob(f"{prefix}*")):
        with suppress(OSError):  # another user's, in use, or gone
            if time.time() - path.stat().st_mtime < _YOUNG_S:
                continue
            lock = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                shutil.rmtree(path, ignore_errors=True)
            finally:
                os.close(lock)
