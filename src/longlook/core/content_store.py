"""Cached folders by a key of everything they were made from: whole or absent, and checked before they are used.

An entry holds the digests of all its files; one that does not match them is thrown away. Files are copied into the
store and out of it: no folder shares a file with another. A store of several machines may stand behind one: it is asked
for what is missing here, and offered what is new.
"""

import errno
import json
import os
import shutil
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol, TypeVar

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


class Behind(Protocol):
    """A store of several machines, as it looks from a store of this one. No method raises an error of that store."""

    def fetch(self, key: str, into: Path) -> bool:
        """Fill an empty folder with the files of an entry; False, with anything left in the folder, if it has none."""

    def has(self, key: str) -> bool:
        """Whether it has an entry, as far as it answers."""

    def offer(self, key: str) -> None:
        """Take note that an entry is here; return at once."""

    def withdraw(self, key: str) -> None:
        """Remove an entry that was offered by this process, and is not believed any more."""


STORES_BEHIND: dict[str, Behind] = {}
"""The stores behind the caches of this process, by kind of entry; `longlook.store` fills it while something runs."""


class ContentStore:
    """The entries below one folder, and of the store behind it, if there is one."""

    def __init__(self, root: Path, behind: Behind | None = None) -> None:
        self._root, self._behind = root, behind

    def read(self, key: str, read: Callable[[Path], T]) -> T | None:
        """Return what `read` makes of an entry's folder; None if there is no sound entry.

        `read` raises ValueError if the entry is damaged, which removes it.
        """
        value = self._read(key, read)
        return self._read(key, read) if value is None and self._fetch(key) else value

    def _read(self, key: str, read: Callable[[Path], T]) -> T | None:
        folder = self._folder(key)
        try:
            known = _recorded(folder)
            value = read(folder) if _is_sound(folder, known) else None
        except (OSError, ValueError, KeyError, TypeError, AttributeError):
            value = None
        if value is None:
            shutil.rmtree(folder, ignore_errors=True)
        return value

    def _fetch(self, key: str) -> bool:
        """Make an entry of what the store behind has; False if it has none, or there is no room for it."""
        if self._behind is None:
            return False
        try:
            partial = self._begin(key)
            try:
                if not self._behind.fetch(key, partial):
                    return False
                self._finish(key, partial)
            finally:
                shutil.rmtree(partial, ignore_errors=True)
        except OSError as error:
            if error.errno not in (errno.ENOSPC, errno.EDQUOT):
                raise
        return self._here(key)

    def has(self, key: str) -> bool:
        """Whether there is an entry; its files are not read."""
        return self._here(key) or (self._behind is not None and self._behind.has(key))

    def _here(self, key: str) -> bool:
        return (self._folder(key) / ENTRY).is_file()

    def offer(self, key: str) -> None:
        """Offer an entry that another process made here to the store behind."""
        if self._behind is not None:
            self._behind.offer(key)

    def held_keys(self) -> Iterator[str]:
        """Yield the key of every entry of this machine."""
        yield from sorted(entry.parent.name for entry in self._root.glob(f"??/*/{ENTRY}"))

    def damage(self, key: str) -> str | None:
        """Return what is wrong with an entry of this machine, None if it is sound; it stays as it is."""
        folder = self._folder(key)
        try:
            known = _recorded(folder)
            if missing := sorted(known.keys() - _names(folder)):
                return f"{missing[0]} is missing"
            if added := sorted(_names(folder) - known.keys()):
                return f"{added[0]} was added"
            changed = next((name for name in sorted(known) if files.digest(folder / name) != known[name]), None)
        except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
            return f"it cannot be read: {error}"
        return f"{changed} was changed" if changed else None

    def remove(self, key: str) -> None:
        """Remove an entry of this machine."""
        shutil.rmtree(self._folder(key), ignore_errors=True)

    def withdraw(self, key: str) -> None:
        """Remove an entry that is not believed any more, here and in the store behind, if this process put it there."""
        self.remove(key)
        if self._behind is not None:
            self._behind.withdraw(key)

    def lay(self, key: str, names: Iterable[str] | None, into: Path) -> bool:
        """Copy files of an entry (None: all) into a folder, except files that are the same there.

        Return False, with none of them left there, if the entry was just removed.
        """
        folder = self._folder(key)
        chosen = sorted(_names(folder)) if names is None else list(names)
        try:
            digests = _recorded(folder)
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
        partial = self._begin(key)
        try:
            for name in names:
                copy(source / name, partial / name)
            for name, text in (texts or {}).items():
                (partial / name).write_text(text)
            self._finish(key, partial)
        except OSError:
            shutil.rmtree(partial, ignore_errors=True)  # or there is no room: no harm
            if not self._folder(key).is_dir() and shutil.disk_usage(self._root).free > 1 << 20:
                raise
        else:
            self.offer(key)

    def _begin(self, key: str) -> Path:
        self._folder(key).parent.mkdir(parents=True, exist_ok=True)
        return Path(tempfile.mkdtemp(prefix=".partial-", dir=self._root))

    def _finish(self, key: str, partial: Path) -> None:
        digests = {name: files.digest(partial / name) for name in sorted(_names(partial))}
        (partial / ENTRY).write_text(json.dumps({"files": digests}, indent=1) + "\n")
        try:
            partial.rename(self._folder(key))
        except OSError as error:
            if error.errno not in (errno.EEXIST, errno.ENOTEMPTY):
                raise
            shutil.rmtree(partial, ignore_errors=True)  # another process was first: its entry is as good, maybe in use

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


def _recorded(folder: Path) -> dict[str, str]:
    digests: dict[str, str] = files.read_json(folder / ENTRY)["files"]
    return digests


def _is_sound(folder: Path, known: Mapping[str, str]) -> bool:
    return known.keys() == _names(folder) and all(files.digest(folder / name) == known[name] for name in known)


def _names(folder: Path) -> set[str]:
    try:
        return {name for name, _ in files.below(folder)} - {ENTRY}
    except FileNotFoundError:
        return set()


def _size_bytes(folder: Path) -> int:
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())
