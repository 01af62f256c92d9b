"""The files that programs under test leave in a trial's folder: what counts, and what is taken out before it is sealed.

A program may leave anything in the folders of its traces: links to files of others, pipes that nobody writes to, or
more than a disk holds. Only regular files stay, and no more of them than `limits` allow.
"""

import os
import shutil
import stat
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from longlook.lab import limits

ROLES = ("server", "client")
_DEEPEST = 8  # folders below a folder of traces; programs make two


@dataclass
class Kept:
    """What the servers or the clients of a trial have left so far."""

    byte_count: int = 0
    files: int = 0

    def broken(self) -> str | None:
        """Return the limit that it breaks, as a sentence without its subject; None where it keeps all."""
        if self.byte_count >= limits.KEPT_BYTES:
            return f"wrote {limits.mebibytes(limits.KEPT_BYTES)} of traces or more"
        if self.files > limits.KEPT_FILES:
            return f"wrote more than {limits.KEPT_FILES} files of traces"
        return None


def measure(folder: Path) -> dict[str, Kept]:
    """Return what each role has left in a trial's folder so far, without its standard error."""
    found = {role: Kept() for role in ROLES}
    for role, place in _places(folder):
        for _, state in _entries(place):
            _count(found[role], state)
    return found


def take_stock(folder: Path) -> dict[str, str]:
    """Take out of a trial's folder what is too much or no regular file; return by role the limit that it broke.

    Call it once the programs have ended. Standard error is cut where it is too long; files of traces that the limit
    leaves no room for are removed, in the order of their names from the last. Those that stay get our owner and mode.
    """
    broken: dict[str, str] = {}
    found = {role: Kept() for role in ROLES}
    for role, place in _places(folder):
        for path, state in list(_entries(place)):
            if not stat.S_ISREG(state.st_mode):
                _remove(path)
                continue
            _count(found[role], state)
            if (reason := found[role].broken()) is not None:
                broken[role] = reason
                path.unlink()
            else:
                _make_ours(path, state)
        for above, _, _ in os.walk(place):
            _own(above, 0o755)
    for path in folder.glob("keys*.log"):
        if path.stat().st_size == 0:  # made for a program that wrote no secrets
            path.unlink()
    for path in [*folder.glob("*.stderr"), *folder.glob("flows/*/*.stderr")]:
        if path.stem in ROLES and path.stat().st_size > limits.STDERR_BYTES:
            os.truncate(path, limits.STDERR_BYTES)
            text = f"wrote more than {limits.mebibytes(limits.STDERR_BYTES)} to standard error"
            broken.setdefault(path.stem, text)
    return broken


def occupied(folder: Path) -> int:
    """Return the bytes of all files below a folder; what vanishes meanwhile does not count."""
    return sum(state.st_size for _, state in _entries(folder) if stat.S_ISREG(state.st_mode))


def _places(folder: Path) -> Iterator[tuple[str, Path]]:
    for role in ROLES:
        yield role, folder / "qlog" / role
    for path in sorted(folder.glob("keys*.log")):
        yield "client", path


def _count(kept: Kept, state: os.stat_result) -> None:
    if stat.S_ISREG(state.st_mode):
        kept.byte_count += state.st_size
        kept.files += 1


def _entries(place: Path, depth: int = 0) -> Iterator[tuple[Path, os.stat_result]]:
    """Yield everything below a path but folders, in the order of names; a folder too deep or unreadable as itself."""
    try:
        state = place.lstat()
        names = sorted(os.listdir(place)) if stat.S_ISDIR(state.st_mode) and depth < _DEEPEST else None  # noqa: PTH208
    except FileNotFoundError:
        return
    if names is None:
        yield place, state
        return
    for name in names:
        yield from _entries(place / name, depth + 1)


def _make_ours(path: Path, state: os.stat_result) -> None:
    """Give a program's file our owner and mode; one that has further names, maybe elsewhere, becomes a copy first."""
    if state.st_nlink > 1:
        copy = path.with_name(f".{path.name}.copy")
        shutil.copyfile(path, copy)
        copy.replace(path)
    _own(path, 0o644)


def _own(path: Path | str, mode: int) -> None:
    with suppress(PermissionError):  # where we are nobody special, the programs have no other user either
        os.chown(path, os.geteuid(), os.getegid())
        os.chmod(path, mode)  # noqa: PTH101 beside chown


def _remove(path: Path) -> None:
    if stat.S_ISDIR(path.lstat().st_mode):
        shutil.rmtree(path, ignore_errors=True)
    else:
        path.unlink()
