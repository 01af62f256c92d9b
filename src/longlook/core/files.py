"""Files that somebody else may have made: only regular files are opened, no link is followed, nothing is waited for.

Whatever reads a run folder, an entry of the atlas or a cache opens its files here: a link may lead to a secret, a named
pipe never answers, a device never ends. Standard library only.
"""

import errno
import hashlib
import json
import os
import stat
from collections.abc import Collection, Iterator
from contextlib import suppress
from io import BufferedReader
from itertools import count
from pathlib import Path
from typing import Any

from longlook.core.errors import InputError

LARGEST_BYTES = 1 << 30
"""The longest file that is read whole: longer than anything that a trial or an analysis writes."""

LARGEST_STREAMED_BYTES = 1 << 33
"""The longest file that is read in parts."""

_KINDS = {
    stat.S_IFLNK: "a link, and links are not followed",
    stat.S_IFDIR: "a folder",
    stat.S_IFIFO: "a named pipe",
    stat.S_IFSOCK: "a socket",
    stat.S_IFCHR: "a device",
    stat.S_IFBLK: "a device",
}


class UnfitFileError(InputError, OSError):
    """A path is no regular file, or its file is too long; `strerror` says which, as OSError's does."""

    def __init__(self, path: Path, what: str) -> None:
        """Take the path, and in a phrase what is wrong with it."""
        super().__init__(f"{path} is not read: it is {what}", "put the file itself there, or remove it")
        self.strerror = f"it is {what}"


def open_regular(path: Path, most_bytes: int = LARGEST_STREAMED_BYTES) -> BufferedReader:
    """Open a regular file of at most `most_bytes` for reading; UnfitFileError or another OSError otherwise."""
    _check(path, path.lstat(), most_bytes)  # first: opening a device may already do something
    try:
        file = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC)
    except OSError as error:
        if error.errno == errno.ELOOP:  # a link took the file's place since
            raise UnfitFileError(path, _KINDS[stat.S_IFLNK]) from error
        raise
    try:
        _check(path, os.fstat(file), most_bytes)
    except BaseException:
        os.close(file)
        raise
    return os.fdopen(file, "rb")


def open_named(path: Path, most_bytes: int = LARGEST_STREAMED_BYTES) -> BufferedReader:
    """Open a file that the user names, also by a link; it must be a regular file that is not empty, of at most
    `most_bytes`. UnfitFileError or another OSError otherwise.

    Files of /proc and /sys that the kernel makes up when they are read call themselves empty; some never end.
    """
    file = open_regular(Path(os.path.realpath(path)), most_bytes)
    if os.fstat(file.fileno()).st_size == 0:
        file.close()
        raise UnfitFileError(path, "empty, or made up by the kernel when it is read")
    return file


def read_named(path: Path, most_bytes: int = LARGEST_BYTES) -> bytes:
    """Return the content of a file that the user names; errors as of `open_named`."""
    with open_named(path, most_bytes) as file:
        return _read(path, file, most_bytes)


def regular(path: Path, most_bytes: int = LARGEST_STREAMED_BYTES) -> Path:
    """Return the path of a regular file, for what opens files by their names; errors as of `open_regular`."""
    _check(path, path.lstat(), most_bytes)
    return path


def is_regular(path: Path) -> bool:
    """Return whether a path is a file and no link to one."""
    try:
        return stat.S_ISREG(path.lstat().st_mode)
    except (OSError, ValueError):
        return False


def read_bytes(path: Path, most_bytes: int = LARGEST_BYTES) -> bytes:
    """Return the content of a regular file of at most `most_bytes`; errors as of `open_regular`."""
    with open_regular(path, most_bytes) as file:
        return _read(path, file, most_bytes)


def read_text(path: Path, errors: str = "strict") -> str:
    """Return the text of a regular file in UTF-8; errors as of `read_bytes`, and UnicodeDecodeError."""
    return read_bytes(path).decode("utf-8", errors)


def read_json(path: Path) -> Any:
    """Return the JSON of a regular file; errors as of `read_text`, ValueError and RecursionError."""
    return json.loads(read_bytes(path))


def digest(path: Path) -> str:
    """Return the SHA-256 of a regular file, hexadecimal; errors as of `open_regular`."""
    with open_regular(path) as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def below(folder: Path, shallow: Collection[str] = ()) -> Iterator[tuple[str, str | None]]:
    """Yield what is below a folder but folders, by relative name, each with what it is where that is no regular file.

    What is in the folders of a folder whose name is in `shallow` is left out. No link is followed. OSError for a folder
    that cannot be read.
    """
    waiting = [""]
    while waiting:
        prefix = waiting.pop()
        goes_on = prefix[:-1].rpartition("/")[2] not in shallow
        with os.scandir(folder / prefix) as entries:
            for entry in entries:
                if entry.is_file(follow_symlinks=False):
                    yield prefix + entry.name, None
                elif not entry.is_dir(follow_symlinks=False):
                    yield prefix + entry.name, _kind(entry.stat(follow_symlinks=False))
                elif goes_on:
                    waiting.append(f"{prefix}{entry.name}/")


def _read(path: Path, file: BufferedReader, most_bytes: int) -> bytes:
    data = file.read(most_bytes + 1)
    if len(data) > most_bytes:
        raise UnfitFileError(path, f"growing while it is read; allowed: at most {most_bytes} bytes")
    return data


def _check(path: Path, state: os.stat_result, most_bytes: int) -> None:
    if not stat.S_ISREG(state.st_mode):
        raise UnfitFileError(path, _kind(state))
    if state.st_size > most_bytes:
        raise UnfitFileError(path, f"{state.st_size} bytes long; allowed: at most {most_bytes}")


def _kind(state: os.stat_result) -> str:
    return _KINDS.get(stat.S_IFMT(state.st_mode), "no regular file")


def remove_tree(top: Path) -> None:
    """Remove a folder with everything below it, however deep: folders are moved up until all lie directly below it."""
    names = (f".longlook-{number}" for number in count())
    with suppress(FileNotFoundError):
        while found := list(os.scandir(top)):
            for entry in found:
                if not entry.is_dir(follow_symlinks=False):
                    os.unlink(entry.path)  # noqa: PTH108
                    continue
                os.chmod(entry.path, 0o700)  # noqa: PTH101
                for inner in list(os.scandir(entry.path)):
                    if not inner.is_dir(follow_symlinks=False):
                        os.unlink(inner.path)  # noqa: PTH108
                        continue
                    os.chmod(inner.path, 0o700)  # noqa: PTH101
                    free = next(name for name in names if not os.path.lexists(top / name))
                    os.rename(inner.path, top / free)  # noqa: PTH104
                os.rmdir(entry.path)  # noqa: PTH106
        top.rmdir()
