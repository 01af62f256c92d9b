"""What programs under test leave in a trial's folder beside their traces (`traces`): TLS secrets and standard error."""

import os
from pathlib import Path

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
            make_own(path)
    for path in [*folder.glob("*.stderr"), *folder.glob("flows/*/*.stderr")]:
        if path.stem in ROLES and path.stat().st_size > limits.STDERR_BYTES:
            os.truncate(path, limits.STDERR_BYTES)
            text = f"wrote more than {limits.mebibytes(limits.STDERR_BYTES)} to standard error"
            broken.setdefault(path.stem, text)
    return broken


def make_own(path: Path) -> None:
    """Give a file that a program made to Longlook's own user, without the modes that the program gave it."""
    os.chown(path, os.geteuid(), os.getegid())
    path.chmod(_READ_BY_ALL)
