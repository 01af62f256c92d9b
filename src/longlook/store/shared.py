"""A store that several machines share: entries by kind and key, each one object that proves its own content.

    URL/longlook-store.json           says that the place is a store, and of which schema
    URL/v1/KIND/ab/KEY.tar.zst        an entry: its files, and `.object.json` with its kind, key and digests

Nothing relies on a list of objects: an entry is there if its object can be read and holds what it says it holds.
"""

import json
import os
import re
import shutil
import tempfile
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO, cast

from longlook.core import InputError, LonglookError, files
from longlook.store.place import Named, Place, StoreError, Trouble

URL = "LONGLOOK_STORE"
MODE = "LONGLOOK_STORE_MODE"
TIMEOUT = "LONGLOOK_STORE_TIMEOUT_S"
MODES = ("read-write", "read")

TRIALS, MEASURED, PROGRAMS, KERNELS = KINDS = ("trials", "measured", "programs", "kernels")
"""The kinds of entries that caches of Longlook have."""

SCHEMA = 1
MARKER = "longlook-store.json"
_ABOUT = ".object.json"
_UNPACKED = ".object.unpacked"
_SUFFIX = ".tar.zst"
_TIMEOUT_S = 30.0
_MOST_ABOUT_BYTES = 1 << 24
_KIND = re.compile(r"[a-z][a-z-]{0,30}")
_KEY = re.compile(r"[0-9a-f]{8,128}")
_NAME = re.compile(rf"v{SCHEMA}/([a-z-]+)/[0-9a-f]{{2}}/([0-9a-f]+){re.escape(_SUFFIX)}")


class DamagedEntryError(LonglookError):
    """An object that is not what it says it is: cut, edited, or another's."""

    def __init__(self, kind: str, key: str, reason: str) -> None:
        """Take the entry and what is wrong with it."""
        super().__init__(f"{object_name(kind, key)} is damaged: {reason}", "longlook cache verify --remove")
        self.kind, self.key, self.reason = kind, key, reason


@dataclass(frozen=True)
class Entry:
    """An entry as the place lists it; `changed_unix_s` is when it was written."""

    kind: str
    key: str
    size_bytes: int
    changed_unix_s: float | None


def object_name(kind: str, key: str) -> str:
    """Return the name of an entry's object below the URL; InputError if no entry can have this kind or key."""
    if not _KIND.fullmatch(kind) or not _KEY.fullmatch(key):
        raise InputError(f"no entry of a store is called {kind}/{key}")
    return f"v{SCHEMA}/{kind}/{key[:2]}/{key}{_SUFFIX}"


class SharedStore:
    """The entries below a URL. Every method raises StoreError if the place does not answer, refuses or is full."""

    def __init__(self, place: Place, *, writes: bool) -> None:
        self._place, self.writes = place, writes

    @classmethod
    def open(cls, url: str, *, writes: bool = True, timeout_s: float = _TIMEOUT_S) -> "SharedStore":
        """Open a store, and make it if the place is empty.

        InputError if the place has other things or is of another schema, StoreError if it cannot be had now.
        """
        place = Place(url, timeout_s)
        marker = place.read(MARKER)
        is_empty = marker is not None or place.is_empty()
        if marker is None and not is_empty:  # or another process has just made it
            marker = place.read(MARKER)
        if marker is not None:
            _expect_ours(url, marker)
        elif not is_empty:
            raise InputError(f"{url} has other things, and is no store of Longlook", "name an empty folder or prefix")
        elif not writes:
            hint = "a machine that may write makes it: longlook cache push"
            raise StoreError(f"there is no store in {url} yet", hint)
        else:
            with tempfile.TemporaryDirectory(prefix="longlook-store-") as folder:
                mark = Path(folder) / MARKER
                mark.write_text(json.dumps({"longlook": "store", "schema": SCHEMA}) + "\n")
                place.upload(MARKER, mark)
        return cls(place, writes=writes)

    @classmethod
    def named(cls) -> "SharedStore | None":
        """Open the store that LONGLOOK_STORE names, None if it names none; raise as `open`."""
        url = os.environ.get(URL, "")
        if not url:
            return None
        mode = os.environ.get(MODE) or MODES[0]
        if mode not in MODES:
            raise InputError(f"{MODE}={mode}: there is no such mode", f"one of {', '.join(MODES)}")
        text = os.environ.get(TIMEOUT) or str(_TIMEOUT_S)
        try:
            timeout_s = float(text)
        except ValueError:
            timeout_s = 0.0
        if not 0 < timeout_s < 86400:
            raise InputError(f"{TIMEOUT}={text}: it is a number of seconds above 0", f"for example {TIMEOUT}=60")
        return cls.open(url, writes=mode == MODES[0], timeout_s=timeout_s)

    @property
    def url(self) -> str:
        """The place, as it was named."""
        return self._place.url

    def expect_writable(self) -> None:
        """Raise StoreError if this process is to read the store alone."""
        if not self.writes:
            raise StoreError(f"{self.url} is only read from here", f"{MODE}={MODES[0]}", Trouble.READ_ONLY)

    def get(self, kind: str, key: str, into: Path) -> bool:
        """Fill an empty folder with the files of an entry; False if there is none.

        DamagedEntryError if the object is not what it says it is, OSError if there is no room here; the folder may
        hold anything then.
        """
        from longlook.store.archive import unpack  # with libraries that a command without a store does not need

        packed, unpacked = into / _ABOUT, into / _UNPACKED
        if not self._place.download(object_name(kind, key), packed):
            return False
        unpacked.mkdir()
        try:
            with packed.open("rb") as file:
                names = set(unpack(file, unpacked))
            known = _described(unpacked, kind, key)
        except InputError as error:
            raise DamagedEntryError(kind, key, error.message) from error
        except (ValueError, KeyError, TypeError, AttributeError, FileNotFoundError, RecursionError) as error:
            raise DamagedEntryError(kind, key, f"its {_ABOUT} cannot be read") from error
        if odd := sorted((names - {_ABOUT}) ^ known.keys()):
            raise DamagedEntryError(kind, key, f"{odd[0]} is missing, or was added")
        if changed := next((name for name in sorted(known) if files.digest(unpacked / name) != known[name]), None):
            raise DamagedEntryError(kind, key, f"{changed} was changed")
        packed.unlink()
        (unpacked / _ABOUT).unlink()
        for path in unpacked.iterdir():
            path.rename(into / path.name)
        unpacked.rmdir()
        return True

    def put(self, kind: str, key: str, folder: Path, names: Iterable[str]) -> bool:
        """Make an entry of files of a folder; False if there is one already, which stays as it is.

        OSError if a file cannot be read here, or if TMPDIR has no room for the object.
        """
        from longlook.store.archive import pack

        name = object_name(kind, key)
        self.expect_writable()
        if self._place.exists(name):
            return False
        chosen = sorted(names)
        about = {"kind": kind, "key": key, "files": {each: files.digest(folder / each) for each in chosen}}
        with tempfile.NamedTemporaryFile(prefix="longlook-store-", suffix=_SUFFIX) as packed:
            pack(folder, chosen, cast("BinaryIO", packed.file), {_ABOUT: json.dumps(about, indent=1) + "\n"})
            packed.flush()
            self._place.upload(name, Path(packed.name))
        return True

    def has(self, kind: str, key: str) -> bool:
        """Whether there is an object for an entry; it is not read."""
        return self._place.exists(object_name(kind, key))

    def damage(self, kind: str, key: str) -> str | None:
        """Read an entry; return what is wrong with it, None if it is sound or is not there (any more)."""
        folder = Path(tempfile.mkdtemp(prefix="longlook-store-"))
        try:
            self.get(kind, key, folder)
        except DamagedEntryError as error:
            return error.reason
        finally:
            shutil.rmtree(folder, ignore_errors=True)
        return None

    def entries(self, kind: str | None = None) -> Iterator[Entry]:
        """Yield what the place lists, of one kind or of all; a list may lack entries that were just written."""
        for named in self._place.below(f"v{SCHEMA}" + (f"/{kind}" if kind else "")):
            if match := _NAME.fullmatch(named.name):
                yield Entry(match[1], match[2], named.size_bytes, named.changed_unix_s)

    def delete(self, kind: str, key: str) -> None:
        """Remove an entry; do nothing if there is none."""
        self.expect_writable()
        self._place.remove(object_name(kind, key))

    def unfinished(self) -> list[Named]:
        """Return the files that interrupted uploads left, in a place without whole objects."""
        return self._place.unfinished()

    def clear(self, left: Named) -> None:
        """Remove what an interrupted upload left."""
        self.expect_writable()
        self._place.remove(left.name)


def _expect_ours(url: str, marker: bytes) -> None:
    try:
        said = json.loads(marker)
        schema = said["schema"] if said["longlook"] == "store" else None
    except (ValueError, KeyError, TypeError):
        schema = None
    if schema is None:
        raise InputError(f"{url} is another's: its {MARKER} is not ours", "name an empty folder or prefix")
    if schema != SCHEMA:
        raise InputError(f"{url} is a store of schema {schema}; this Longlook knows {SCHEMA}", "name another place")


def _described(folder: Path, kind: str, key: str) -> dict[str, str]:
    """Return the digests of the files of an unpacked object by its own account; InputError if it is of another."""
    about = json.loads(files.read_bytes(folder / _ABOUT, _MOST_ABOUT_BYTES))
    if (about["kind"], about["key"]) != (kind, key):
        raise InputError(f"it is {about['kind']}/{about['key']}")
    known: dict[str, str] = about["files"]
    return {str(name): str(digest) for name, digest in known.items()}
