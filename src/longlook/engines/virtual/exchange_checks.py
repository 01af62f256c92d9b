"""Checks the files that a guest left in its exchange directory, before anything here reads them.

A program that got out of its guest could write there: links, pipes, files without end. Only files and folders stay that
Longlook owns and that have one name each; a guest that left anything else is not believed in anything.
"""

import os
import stat
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from longlook.lab import mebibytes

_BYTES_A_TRIAL = 4 << 30  # traces, logs and a link's packets, each at its limit, take less
_FILES_A_TRIAL = 32_768
_CONSOLE_BYTES = 64 << 20
_DEEPEST = 32
WROTE = "the guest wrote more than"
"""The beginning of the reason if a guest took too much of the disk."""

_KINDS = {
    stat.S_IFLNK: "a link",
    stat.S_IFIFO: "a pipe",
    stat.S_IFSOCK: "a socket",
    stat.S_IFCHR: "a device",
    stat.S_IFBLK: "a device",
}


@dataclass(frozen=True)
class Bounds:
    """How much a guest may leave: bytes and files for each of its trials, and bytes of its console in all."""

    trials: int
    byte_count: int = _BYTES_A_TRIAL
    files: int = _FILES_A_TRIAL
    console_bytes: int = _CONSOLE_BYTES


def too_much(exchange: Path, console: str, bounds: Bounds) -> str | None:
    """Return the bound that a running guest has broken, as the reason to end it; None if it keeps all."""
    byte_count = 0
    for files, (path, state) in enumerate(_entries(exchange), 1):
        byte_count += max(state.st_size, state.st_blocks * 512)
        if path == console and state.st_size > bounds.console_bytes:
            return f"{WROTE} {mebibytes(bounds.console_bytes)} on its console"
        if files > bounds.files * bounds.trials:
            return f"{WROTE} {bounds.files * bounds.trials} files"
        if byte_count > bounds.byte_count * bounds.trials:
            return f"{WROTE} {mebibytes(bounds.byte_count * bounds.trials)} of files"
    return None


def take_over(exchange: Path, console: str, bounds: Bounds) -> str | None:
    """Make all files of a guest that has ended Longlook's own; return why they cannot be believed, None if they can.

    Owners and modes become Longlook's: 0644 for files, 0755 for folders.
    """
    owner = (os.geteuid(), os.getegid())
    if (reason := _take(exchange, owner)) is not None:
        return reason
    try:
        for path, state in _entries(exchange, owner):
            if not (stat.S_ISREG(state.st_mode) or stat.S_ISDIR(state.st_mode)):
                return f"the guest left something that is no file: {path} is {_KINDS.get(stat.S_IFMT(state.st_mode))}"
            if stat.S_ISREG(state.st_mode) and state.st_nlink != 1:
                return f"the guest left something that is no file: {path} has {state.st_nlink} names"
    except OSError as error:
        return f"the files that the guest left cannot be taken over: {error}"
    return too_much(exchange, console, bounds)


def _take(exchange: Path, owner: tuple[int, int]) -> str | None:
    try:
        os.chown(exchange, *owner)
        exchange.chmod(0o700)
    except OSError as error:
        return f"the files that the guest left cannot be taken over: {error}"
    return None


def _entries(exchange: Path, owner: tuple[int, int] | None = None) -> Iterator[tuple[str, os.stat_result]]:
    """Yield the path and the state of everything below a folder, without ever following a link.

    With an `owner` each file and folder becomes that user's before it is yielded. Folders that are too deep, or that
    vanish, are yielded and not entered.
    """
    top = os.open(exchange, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
    try:
        yield from _below(top, "", 0, owner)
    finally:
        os.close(top)


def _below(folder: int, path: str, depth: int, owner: tuple[int, int] | None) -> Iterator[tuple[str, os.stat_result]]:
    with os.scandir(folder) as listing:
        for entry in listing:
            name = f"{path}{entry.name}"
            try:
                state = os.stat(entry.name, dir_fd=folder, follow_symlinks=False)
                if owner is not None:
                    _own(folder, entry.name, state, owner)
            except FileNotFoundError:
                continue
            yield name, state
            if stat.S_ISDIR(state.st_mode):
                yield from _inside(folder, entry.name, name, depth, owner)


def _inside(
    parent: int, entry: str, name: str, depth: int, owner: tuple[int, int] | None
) -> Iterator[tuple[str, os.stat_result]]:
    if depth >= _DEEPEST:
        if owner is not None:
            raise OSError(f"{name} is nested too deeply")
        return
    try:
        inner = os.open(entry, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=parent)
    except OSError:
        if owner is not None:
            raise
        return
    try:
        yield from _below(inner, f"{name}/", depth + 1, owner)
    finally:
        os.close(inner)


def _own(folder: int, name: str, state: os.stat_result, owner: tuple[int, int]) -> None:
    """Give a file or folder its owner and its mode. Nothing of the guest runs any more, so that it stays what it is."""
    if (state.st_uid, state.st_gid) != owner:
        os.chown(name, *owner, dir_fd=folder, follow_symlinks=False)
    wanted = 0o755 if stat.S_ISDIR(state.st_mode) else 0o644
    if stat.S_IMODE(state.st_mode) != wanted and (stat.S_ISREG(state.st_mode) or stat.S_ISDIR(state.st_mode)):
        os.chmod(name, wanted, dir_fd=folder)
