"""Cached folders by a key of everything they were made from: whole or absent, and checked before they are used.

An entry holds the digests of all its files; one that does not match them is thrown away. Files are copied into the
store and out of it: no folder shares a file with another.
"""

import errno
import json
import os
import shutil
import tempfile
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from longlook.core import files

ENTRY = "entry.json"
_ABANDONED_S = 3600.0  # an unfinished entry is left for so long to the process that may be writing it

_LARGEST_COPY_BYTES = 1 << 30
_NOT_COPIED_BY_KERNEL = (errno.EXDEV, errno.EINVAL, errno.ENOSYS, errno.EOPNOTSUPP, errno.EPERM)
"""Between some file systems the kernel does not copy by itself."""

T = TypeVar("T")


@dataclass(frozen=True)
class Pruned:
    """The counts and bytes that a prune removed and left."""

    removed: int
    removed_bytes: int
    kept: int
    kept_bytes: int


class ContentStore:
    """The entries below one folder."""

    def __init__(self, root: Path) -> None:
        self._root = root

    def read(self, key: str, read: Callable[[Path], T]) -> T | None:
        """Return what `read` makes of an entry's folder; None if there is no sound entry.

        `read` raises ValueError if the entry is damaged, which removes it.
        """
        folder = self._folder(key)
        try:
            known: dict[str, str] = files.read_json(folder / ENTRY)["files"]
            sound = known.keys() == _names(folder) and all(files.digest(folder / name) == known[name] for name in known)
            value = read(folder) if sound else None
        except (OSError, ValueError, KeyError, TypeError, AttributeError):
            value = None
        if value is None:
            shutil.rmtree(folder, ignore_errors=True)
        return value

    def has(self, key: str) -> bool:
        """Whether there is an entry; its files are not read."""
        return (self._folder(key) / ENTRY).is_file()

    def lay(self, key: str, names: Iterable[str] | None, into: Path) -> bool:
        """Copy files of an entry (None: all) into a folder, except files that are the same there.

        Return False, with none of them left there, if the entry was just removed.
        """
        folder = self._folder(key)
        chosen = sorted(_names(folder)) if names is None else list(names)
        try:
            digests: dict[str, str] = files.read_json(folder / ENTRY)["files"]
            for name in chosen:
                if not _is(into / name, digests[name]):
                    copy(folder / name, into / name)
            os.utime(folder / ENTRY)  # last used, for prune
        except FileNotFoundError:  # another process is pruning: there is none, then
            for name in chosen:
                (into / name).unlink(missing_ok=True)
            return False
        return True

    def keep(self, key: str, source: Path, names: Iterable[str], texts: Mapping[str, str] | None = None) -> None:
        """Make an entry of files of a folder, and of texts by their names; do nothing if there is no room for it."""
        folder = self._folder(key)
        folder.parent.mkdir(parents=True, exist_ok=True)
        partial = Path(tempfile.mkdtemp(prefix=".partial-", dir=self._root))
        try:
            for name in names:
                copy(source / name, partial / name)
            for name, text in (texts or {}).items():
                (partial / name).write_text(text)
            digests = {name: files.digest(partial / name) for name in sorted(_names(partial))}
            (partial / ENTRY).write_text(json.dumps({"files": digests}, indent=1) + "\n")
            partial.rename(folder)  # refused where another process was first: its entry is as good, and may be in use
        except OSError:
            shutil.rmtree(partial, ignore_errors=True)  # or there is no room: no harm
            if not folder.is_dir() and shutil.disk_usage(self._root).free > 1 << 20:
                raise

    def prune(self, unused_for_s: float, now_s: float | None = None) -> Pruned:
        """Remove entries that nothing has used for that long, and the partial entries of interrupted processes."""
        now_s = time.time() if now_s is None else now_s
        removed = removed_bytes = kept = kept_bytes = 0
        for folder in [*self._root.glob("??/*"), *self._root.glob(".partial-*")]:
            whole = not folder.name.startswith(".")
            try:
                size_bytes = _size_bytes(folder)
                used_s = (folder / ENTRY if (folder / ENTRY).exists() else folder).stat().st_mtime
            except FileNotFoundError:  # somebody else removes or finishes it
                continue
            if now_s - used_s >= (unused_for_s if whole else max(unused_for_s, _ABANDONED_S)):
                shutil.rmtree(folder, ignore_errors=True)
                removed, removed_bytes = removed + 1, removed_bytes + size_bytes
            else:
                kept, kept_bytes = kept + 1, kept_bytes + size_bytes
        return Pruned(removed, removed_bytes, kept, kept_bytes)

    def held(self) -> tuple[int, int]:
        """Return the number of entries and their bytes."""
        sizes = [_size_bytes(folder) for folder in self._root.glob("??/*")]
        return len(sizes), sum(sizes)

    def _folder(self, key: str) -> Path:
        return self._root / key[:2] / key


def copy(source: Path, target: Path) -> None:
    """Make a file of the same content that shares nothing with the first: a change of one never shows in the other.

    If the file system can, both have the same blocks on the disk until one is changed.
    """
    target.parent.mkdir(parents=True, exist_ok=True)
    target.unlink(missing_ok=True)  # a run folder of an earlier Longlook shares its files with others
    with files.open_regular(source) as old, target.open("xb", buffering=0) as new:
        try:
            while os.copy_file_range(old.fileno(), new.fileno(), _LARGEST_COPY_BYTES):
                pass
        except OSError as error:
            if error.errno not in _NOT_COPIED_BY_KERNEL:
                raise
            shutil.copyfileobj(old, new)


def _is(path: Path, digest: str) -> bool:
    try:
        return files.digest(path) == digest
    except FileNotFoundError:
        return False


def _names(folder: Path) -> set[str]:
    try:
        return {name for name, _ in files.below(folder)} - {ENTRY}
    except FileNotFoundError:
        return set()


def _size_bytes(folder: Path) -> int:
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())
