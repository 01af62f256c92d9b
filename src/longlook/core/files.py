"""Files that somebody else may have made: only regular files are opened, no link is followed, nothing is waited for.

Whatever reads a run folder, an entry of the atlas or a cache opens its files here: a link may lead to a secret, a named
pipe never answers, a device never ends. Files that others may still change meanwhile are opened by `open_below`.
Standard library only.
"""

import ctypes
import errno
import hashlib
import json
import os
import stat
import struct
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

_READ = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC
_STEP = os.O_PATH | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_OPENAT2 = 437  # on every machine
_NO_SYMLINKS_BELOW = 0x04 | 0x08  # RESOLVE_NO_SYMLINKS and RESOLVE_BENEATH
_NO_SUCH_CALL = (errno.ENOSYS, errno.EPERM)  # a kernel before Linux 5.6, or a filter of a container that knows no later
_LIBC = ctypes.CDLL(None, use_errno=True)

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
        file = os.open(path, _READ)
    except OSError as error:
        if error.errno == errno.ELOOP:  # a link took the file's place since
            raise UnfitFileError(path, _KINDS[stat.S_IFLNK]) from error
        raise
    return _checked(path, file, most_bytes)


def open_below(folder: Path, name: str, most_bytes: int = LARGEST_STREAMED_BYTES) -> BufferedReader:
    """Open a regular file of at most `most_bytes` by its path below a folder that a program may change meanwhile.

    Unlike of `open_regular`, no part of `name` may be a link, and none leads out of the folder, whatever takes a
    folder's place between two looks; `folder` itself must be out of the program's reach. UnfitFileError or another
    OSError otherwise.
    """
    path = folder / name
    if not name or name.startswith("/") or ".." in name.split("/"):
        raise UnfitFileError(path, "not below its folder")
    top = os.open(folder, os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        file = _open_at(top, name)
    except OSError as error:
        if error.errno == errno.ELOOP:
            raise UnfitFileError(path, "behind a link, and links are not followed") from error
        raise
    finally:
        os.close(top)
    return _checked(path, file, most_bytes)


def _open_at(top: int, name: str) -> int:
    """Open a file for reading below a folder's descriptor; OSError with ELOOP if a link is in the way."""
    how = struct.pack("=3Q", _READ, 0, _NO_SYMLINKS_BELOW)
    arguments = (ctypes.c_int(top), os.fsencode(name), how, ctypes.c_size_t(len(how)))
    if (file := _LIBC.syscall(ctypes.c_long(_OPENAT2), *arguments)) >= 0:
        return int(file)
    number = ctypes.get_errno()
    if number in _NO_SUCH_CALL:
        return _open_step_by_step(top, name)
    raise OSError(number, os.strerror(number), name)


def _open_step_by_step(top: int, name: str) -> int:
    """Do as `_open_at` if the kernel cannot open a whole path without links."""
    *folders, last = name.split("/")
    here = os.dup(top)
    try:
        for folder in folders:
            above, here = here, _step(here, folder)
            os.close(above)
        return os.open(last, _READ, dir_fd=here)
    finally:
        os.close(here)


def _step(above: int, folder: str) -> int:
    try:
        return os.open(folder, _STEP, dir_fd=above)
    except NotADirectoryError as error:
        if stat.S_ISLNK(os.lstat(folder, dir_fd=above).st_mode):
            raise OSError(errno.ELOOP, os.strerror(errno.ELOOP), folder) from error
        raise


def _checked(path: Path, file: int, most_bytes: int) -> BufferedReader:
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


def read_json(path: Path, most_bytes: int = LARGEST_BYTES) -> Any:
    """Return the JSON of a regular file; errors as of `read_text`, ValueError and RecursionError."""
    return json.loads(read_bytes(path, most_bytes))


def digest(path: Path) -> str:
    """Return the SHA-256 of a regular file, hexadecimal; errors as of `open_regular`."""
    with open_regular(path) as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def below(folder: Path, shallow: Collection[str] = ()) -> Iterator[tuple[str, str | None]]:
    """Yield everything below a folder except folders: the relative name, and the kind of file if it is no regular file.

    If a folder's name is in `shallow`, the contents of its subfolders are left out. No link is followed. OSError for a
    folder that cannot be read.
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
    data = file.read(min(most_bytes, os.fstat(file.fileno()).st_size) + 1)  # room for all that is asked for is taken
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
