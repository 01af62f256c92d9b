"""The files, other than traces (`traces`), that programs under test leave in a trial's folder: TLS secrets, standard
error.
"""

import os
from contextlib import suppress
from pathlib import Path

from longlook.core import open_regular
from longlook.lab import limits

ROLES = ("server", "client")
_READ_BY_ALL = 0o644
_BLOCK_BYTES = 1 << 20
_PROGRAMS = (*ROLES, "proxy", "relay")


def take_stock(folder: Path, outlets: Path) -> dict[str, str]:
    """Cut standard error in a trial's folder to its limit; return by role the limit that was broken.

    Call it once the programs have ended. Their output is in `outlets`, which may be the folder itself. Files of TLS
    secrets become Longlook's own; empty ones are removed.
    """
    broken: dict[str, str] = {}
    if outlets != folder:
        _collect(folder, outlets)
    for path in folder.glob("keys*.log"):
        if path.stat().st_size == 0:  # made for a program that wrote no secrets
            path.unlink()
        else:
            make_own(path)
    for path in _stderr_files(folder):
        if path.stem in ROLES and path.stat().st_size > limits.STDERR_BYTES:
            os.truncate(path, limits.STDERR_BYTES)
            text = f"wrote more than {limits.mebibytes(limits.STDERR_BYTES)} to standard error"
            broken.setdefault(path.stem, text)
    return broken


def _collect(folder: Path, outlets: Path) -> None:
    """Move what programs wrote into a trial's folder, and one byte more than the limit of standard error at most.

    Nothing of it stays in `outlets`, which the next trial has, too.
    """
    for path in [*_stderr_files(outlets), *outlets.glob("keys*.log")]:
        target = folder / path.relative_to(outlets)
        most = limits.STDERR_BYTES + 1 if path.suffix == ".stderr" else limits.KEPT_IN_GUEST_BYTES
        with open_regular(path) as whole, target.open("wb") as copy:
            for begin in range(0, most, _BLOCK_BYTES):
                if not (block := whole.read(min(_BLOCK_BYTES, most - begin))):
                    break
                copy.write(block)
        path.unlink()
    for emptied in (*outlets.glob("flows/*"), outlets / "flows"):
        with suppress(OSError):  # it holds what is no program's
            emptied.rmdir()


def _stderr_files(top: Path) -> list[Path]:
    found = [*top.glob("*.stderr"), *top.glob("flows/*/*.stderr")]
    return [path for path in found if path.stem in _PROGRAMS]


def make_own(path: Path) -> None:
    """Give a file that a program made to Longlook's own user, without the modes that the program gave it."""
    os.chown(path, os.geteuid(), os.getegid())
    path.chmod(_READ_BY_ALL)
