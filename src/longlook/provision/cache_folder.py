"""Makes folders of the cache once: atomically, and by one process at a time. Standard library only."""

import contextlib
import errno
import fcntl
import os
import shutil
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

from longlook.core.errors import MachineError
from longlook.provision.progress import report_step

_FULL = (errno.ENOSPC, errno.EDQUOT)
_FORBIDDEN = (errno.EACCES, errno.EPERM, errno.EROFS, errno.ENOTDIR, errno.EEXIST)


def filled(folder: Path, is_intact: Callable[[Path], bool], fill: Callable[[Path], None]) -> Path:
    """Return `folder`; call `fill` to make its contents first if it is missing, or not intact by `is_intact`.

    `fill` works in a temporary folder, which is renamed at the end: no process ever sees half of it, and a killed one
    leaves only a temporary folder that the next call removes. Raise MachineError when the cache cannot be written.
    """
    if folder.is_dir() and is_intact(folder):
        return folder
    with _explained(folder), locked(folder):
        if folder.is_dir() and is_intact(folder):  # another process has just made it
            return folder
        _remove_stale(folder)
        temporary = Path(tempfile.mkdtemp(prefix=_prefix(folder), dir=folder.parent))
        try:
            temporary.chmod(0o755)
            fill(temporary)
            if folder.exists():
                shutil.rmtree(folder)
            temporary.rename(folder)
        except BaseException:
            shutil.rmtree(temporary, ignore_errors=True)
            raise
    return folder


def _prefix(folder: Path) -> str:
    return f".{folder.name}.making-"


def _remove_stale(folder: Path) -> None:
    for stale in folder.parent.glob(f"{_prefix(folder)}*"):
        shutil.rmtree(stale, ignore_errors=True)


@contextlib.contextmanager
def locked(folder: Path) -> Iterator[None]:
    """Hold an exclusive lock on `folder` between processes; the kernel drops the lock of a process that dies.

    Creates the folder's parent; the folder itself need not exist.
    """
    folder.parent.mkdir(parents=True, exist_ok=True)
    with (folder.parent / f".{folder.name}.lock").open("w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            report_step("waiting for another longlook, which is making it")
            fcntl.flock(lock, fcntl.LOCK_EX)
        yield


@contextlib.contextmanager
def _explained(folder: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        where = os.fspath(folder.parent)
        if error.errno in _FULL:
            raise MachineError(
                f"the disk of the cache is full ({where})", "free some, or move it: LONGLOOK_CACHE"
            ) from error
        if error.errno in _FORBIDDEN:
            raise MachineError(
                f"the cache cannot be written: {error}", "make it writable, or move it: LONGLOOK_CACHE"
            ) from error
        raise
