"""Temporary folders outside of a run folder: removed by their maker, or by the next maker if theirs was killed."""

import fcntl
import os
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from longlook.core import remove_tree

_EXCHANGE = "longlook-exchange-"
_OLD = ("longlook-box-",)  # of versions before 2026-11-22
_YOUNG_S = 60.0  # it may not be locked yet


@contextmanager
def exchange_directory() -> Iterator[Path]:
    """Yield an empty exchange directory and remove it afterwards."""
    with temporary_folder(_EXCHANGE, Path(tempfile.gettempdir())) as folder:
        yield folder


@contextmanager
def temporary_folder(prefix: str, parent: Path) -> Iterator[Path]:
    """Yield an empty folder and remove it afterwards; first remove the folders that killed processes left."""
    for left in (prefix, *_OLD):
        _clear(left, parent)
    with tempfile.TemporaryDirectory(prefix=prefix, dir=parent) as name:
        lock = os.open(name, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            fcntl.flock(lock, fcntl.LOCK_EX)  # the kernel releases it when this process dies
            yield Path(name)
        finally:
            os.close(lock)


def _clear(prefix: str, parent: Path) -> None:
    for path in parent.glob(f"{prefix}*"):
        with suppress(OSError):  # another user's, in use, or gone
            if time.time() - path.stat().st_mtime < _YOUNG_S:
                continue
            lock = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                remove_tree(path)
            finally:
                os.close(lock)
