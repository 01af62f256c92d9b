"""The files that programs under test leave in a trial's folder: how to read them, and what is taken out in the end.

A program may leave anything in the folders of its traces (`traces`): links to files of others, pipes that nobody writes
to, or more than a disk holds. Only regular files stay, and no more of them than `limits` allow.
"""

import os
import stat
from contextlib import suppress
from pathlib import Path
from typing import BinaryIO

from longlook.lab import limits

ROLES = ("server", "client")
_READ_BY_ALL = 0o644


def take_stock(folder: Path) -> dict[str, str]:
    """Take out of a trial's folder what is too much of standard error; return by role the limit that it broke.

    Call it once the programs have ended. Their TLS secrets become Longlook's own; files of none are removed.
    """
    broken: dict[str, str] = {}
    for path in folder.glob("keys*.log"):
        if path.stat().st_size == 0:  # made for a program that wrote no secrets
            path.unlink()
        else:
            os.chown(path, os.geteuid(), os.getegid())
            path.chmod(_READ_BY_ALL)
    for path in [*folder.glob("*.stderr"), *folder.glob("flows/*/*.stderr")]:
        if path.stem in ROLES and path.stat().st_size > limits.STDERR_BYTES:
            os.truncate(path, limits.STDERR_BYTES)
            text = f"wrote more than {limits.mebibytes(limits.STDERR_BYTES)} to standard error"
            broken.setdefault(path.stem, text)
    return broken


def is_regular(path: Path) -> bool:
    """Return whether a path is a file and no link to one."""
    with suppress(OSError):
        return stat.S_ISREG(path.lstat().st_mode)
    return False


def open_regular(path: Path) -> BinaryIO:
    """Open a file of a program for reading; raise OSError for a link, which may lead anywhere."""
    return os.fdopen(os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC), "rb")
