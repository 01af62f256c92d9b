"""One folder in any file system that fsspec knows: files by name, whole or absent, each operation within a time limit.

Credentials, endpoints and proxies are settings of fsspec and of the library of the file system, never ours.
"""

import errno
import json
import threading
import uuid
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from pathlib import Path, PurePosixPath
from typing import Any, TypeVar

from longlook.core import InputError, MachineError

_WHOLE = frozenset({"s3", "s3a", "gs", "gcs", "abfs", "abfss", "az", "oss", "oci", "memory"})
"""Protocols of stores whose objects appear when they are complete; in other places a file is written, then renamed."""
_UNFINISHED = ".partial-"
_HERE_FULL = (errno.ENOSPC, errno.EDQUOT)
_REFUSED = (errno.EACCES, errno.EPERM, errno.EROFS)
_PATIENCE_S = 15.0  # for the first answer of a place, even if later ones may take longer

T = TypeVar("T")


class Trouble(StrEnum):
    """The kinds of refusals of a place: whether it is worth asking it again decides."""

    GONE = "gone"  # no answer, or no connection
    FULL = "full"
    READ_ONLY = "read-only"


class StoreError(MachineError):
    """A place that does not do what it was asked for; nothing on this machine is harmed."""

    def __init__(self, message: str, hint: str | None = None, trouble: Trouble = Trouble.GONE) -> None:
        """Take what is wrong, what to do next and the kind of it."""
        super().__init__(message, hint)
        self.trouble = trouble


@dataclass(frozen=True)
class Named:
    """A file of a place, its size in bytes and its last change, seconds since 1970 (None: the place does not say)."""

    name: str
    size_bytes: int
    changed_unix_s: float | None


class Place:
    """The files below a URL, by names with slashes."""

    def __init__(self, url: str, timeout_s: float) -> None:
        """Open nothing yet; InputError if no library knows the URL, MachineError if its library is missing."""
        self.url, self._timeout_s = url, timeout_s
        self._files, root = _file_system(url)
        self._root = root.rstrip("/")
        protocols = self._files.protocol
        self._whole = not _WHOLE.isdisjoint([protocols] if isinstance(protocols, str) else protocols)

    def read(self, name: str) -> bytes | None:
        """Return a small file, None if there is none."""
        return self._ask(
            lambda: self._absent_is_none(lambda: bytes(self._files.cat_file(self._path(name)))), first=True
        )

    def download(self, name: str, into: Path) -> bool:
        """Write a file's bytes into the file `into`; False if there is none. OSError if there is no room here."""
        path = self._path(name)
        try:
            return (
                self._ask(lambda: self._absent_is_none(lambda: self._files.get_file(path, str(into)) or True)) is True
            )
        except StoreError as error:
            if isinstance(error.__cause__, OSError) and error.__cause__.errno in _HERE_FULL:
                raise error.__cause__ from None  # a place that is full can be read
            raise

    def upload(self, name: str, source: Path) -> None:
        """Make a file of the bytes of the file `source`."""
        self._ask(lambda: self._put(name, source))

    def exists(self, name: str) -> bool:
        """Whether there is a file of this name."""
        return self._ask(lambda: bool(self._files.exists(self._path(name))))

    def remove(self, name: str) -> None:
        """Remove a file; do nothing if there is none."""
        self._ask(lambda: self._absent_is_none(lambda: self._files.rm_file(self._path(name))))

    def below(self, folder: str) -> list[Named]:
        """Return the files below a folder as the place lists them; a list may lack what has just been written."""
        return self._ask(lambda: list(self._listed(folder)), patient=True)

    def unfinished(self) -> list[Named]:
        """Return the files that interrupted uploads left in a place without whole objects."""
        return self._ask(lambda: list(self._listed("", unfinished=True)), patient=True)

    def is_empty(self) -> bool:
        """Whether nothing is listed there but what is being written."""
        listed = self._ask(lambda: self._absent_is_none(lambda: self._files.ls(self._root, detail=False)), first=True)
        return all(PurePosixPath(path).name.startswith(_UNFINISHED) for path in listed or ())

    def _put(self, name: str, source: Path) -> None:
        target = self._path(name)
        if self._whole:
            self._files.put_file(str(source), target)
            return
        parent = target.rpartition("/")[0]
        partial = f"{parent}/{_UNFINISHED}{uuid.uuid4().hex}"
        self._files.makedirs(parent, exist_ok=True)
        try:
            self._files.put_file(str(source), partial)
            self._files.mv(partial, target)
        except BaseException:
            if self._files.exists(partial):
                self._files.rm_file(partial)
            raise

    def _listed(self, folder: str, *, unfinished: bool = False) -> Iterator[Named]:
        self._files.invalidate_cache()
        top = self._path(folder) if folder else self._root
        found = self._absent_is_none(lambda: self._files.find(top, detail=True)) or {}
        for path, about in sorted(found.items()):
            name = path[len(self._root) :].lstrip("/")
            if PurePosixPath(name).name.startswith(_UNFINISHED) == unfinished:
                yield Named(name, int(about.get("size") or 0), _changed(about))

    def _path(self, name: str) -> str:
        return f"{self._root}/{name}"

    def _absent_is_none(self, call: Callable[[], T]) -> T | None:
        try:
            return call()
        except (FileNotFoundError, NotADirectoryError):
            return None

    def _ask(self, call: Callable[[], T], *, first: bool = False, patient: bool = False) -> T:
        """Return what a call of the file system returns; StoreError for whatever else becomes of it.

        The call runs in a thread of its own, which is left alone when its time is over: no library can be interrupted.
        """
        limit_s = min(self._timeout_s, _PATIENCE_S) if first else self._timeout_s * (10 if patient else 1)
        answer: list[T] = []
        error: list[BaseException] = []

        def run() -> None:
            try:
                answer.append(call())
            except BaseException as raised:
                error.append(raised)

        thread = threading.Thread(target=run, name="store", daemon=True)
        thread.start()
        thread.join(limit_s)
        if answer:
            return answer[0]
        if not error:
            raise StoreError(f"{self.url} did not answer within {limit_s:g} s", "see LONGLOOK_STORE_TIMEOUT_S")
        raise self._explained(error[0]) from error[0]

    def _explained(self, error: BaseException) -> BaseException:
        said = " ".join(str(error).split()) or type(error).__name__
        number = error.errno if isinstance(error, OSError) else None
        if number in _HERE_FULL:
            return StoreError(f"{self.url} is full, or this machine's disk is: {said}", None, Trouble.FULL)
        if isinstance(error, PermissionError) or number in _REFUSED:
            return StoreError(f"{self.url} refuses: {said}", "see its credentials and rights", Trouble.READ_ONLY)
        if isinstance(error, ImportError):
            return _missing(self.url, error)
        if any(word in said for word in ("QuotaExceeded", "InsufficientStorage", "EntityTooLarge")):
            return StoreError(f"{self.url} is full: {said}", None, Trouble.FULL)
        if isinstance(error, FileNotFoundError):
            return StoreError(f"{self.url}: there is no such place: {said}", "make the bucket or the folder first")
        return StoreError(f"{self.url} failed: {said}")


def _file_system(url: str) -> tuple[Any, str]:
    try:
        import fsspec
    except ImportError as error:
        raise _missing(url, error) from error
    try:
        return fsspec.core.url_to_fs(url, use_listings_cache=False, skip_instance_cache=True)  # type: ignore[no-any-return, no-untyped-call]
    except ImportError as error:
        raise _missing(url, error) from error
    except (ValueError, TypeError, json.JSONDecodeError) as error:
        raise InputError(
            f"{url!r} is no place for a store: {error}", "a folder, or a URL such as s3://bucket/prefix"
        ) from error


def _missing(url: str, error: ImportError) -> MachineError:
    hint = "pip install 'longlook[store]', and for other places than folders and S3 what fsspec names"
    return MachineError(f"{url} needs a library that is not installed: {error}", hint)


def _changed(about: dict[str, Any]) -> float | None:
    for key in ("mtime", "LastModified", "last_modified", "updated", "created"):
        value = about.get(key)
        if isinstance(value, datetime):
            return value.timestamp()
        if isinstance(value, (int, float)):
            return float(value)
        if isinstance(value, str):
            try:
                return datetime.fromisoformat(value).timestamp()
            except ValueError:
                continue
    return None
