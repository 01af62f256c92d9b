"""The lock of a folder that one process writes to, and a file by which processes wait for each other."""

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from longlook.core.errors import InputError, MachineError

NAME = ".lock"


class Lock:
    """The lock of one folder, by its file `.lock`, which stays.

    A file that were removed could be locked still by who opened it before, while another locks a new one.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._file: int | None = None

    def take(self) -> None:
        """Take the lock; InputError if another process has it, MachineError if there can be no lock."""
        flags = os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
        try:
            file = os.open(self._folder / NAME, flags, 0o644)
        except OSError as error:
            hint = "copy the folder elsewhere, or choose another --out"
            raise MachineError(f"cannot write to {self._folder}: {error.strerror}", hint) from error
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            os.close(file)
            hint = "wait for it, or choose another --out"
            raise InputError(f"{self._folder} is in use by another longlook", hint) from error
        self._file = file

    def release(self) -> None:
        """Give the lock back; do nothing without it."""
        if self._file is not None:
            os.close(self._file)
            self._file = None


@contextmanager
def one_at_a_time(file: Path) -> Iterator[None]:
    """Wait until no other process is in such a block with the same file, which is made and stays; OSError if not."""
    descriptor = os.open(file, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)
