"""Folders as one packed file: the same folder gives the same bytes, and nothing of a packed file leaves its folder.

A packed folder is a tar archive in zstd. Times, owners and the order of a file system are not in it; whether a file is
executable is.
"""

import errno
import io
import tarfile
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, BinaryIO, Self

import pyarrow as pa

from longlook.core import InputError, files

if TYPE_CHECKING:
    from _typeshed import ReadableBuffer as Buffer

LARGEST_UNPACKED_BYTES = 1 << 33
MOST_HEADER_BYTES = 1 << 20
_LONG = (tarfile.XHDTYPE, tarfile.XGLTYPE, tarfile.SOLARIS_XHDTYPE, tarfile.GNUTYPE_LONGNAME, tarfile.GNUTYPE_LONGLINK)
_EXECUTABLE, _PLAIN = 0o755, 0o644
_CHUNK_BYTES = 1 << 20
_UNFIT = (errno.ENAMETOOLONG, errno.ENOTDIR, errno.EISDIR, errno.EINVAL, errno.EILSEQ)  # of names that no file has
_HINT = "it was cut, edited, or is of another program: get it again"


class TooLongHeaderError(Exception):
    """A header of a tar archive says that more text stands before an entry than any entry needs."""


class BoundedEntry(tarfile.TarInfo):
    """An entry of a tar archive whose header is bounded: tarfile reads long names and extended headers into memory."""

    @classmethod
    def frombuf(cls, buf: bytes | bytearray, encoding: str, errors: str) -> Self:
        """Return the entry of a block; TooLongHeaderError if more than 1 MiB of text stands before it."""
        found = super().frombuf(buf, encoding, errors)
        if found.type in _LONG and found.size > MOST_HEADER_BYTES:
            raise TooLongHeaderError("it says that more than 1 MiB of names stand before an entry")
        return found


def pack(folder: Path, names: Iterable[str], into: BinaryIO, texts: Mapping[str, str] | None = None) -> None:
    """Write the named files below a folder, in the order of their names, as one packed file; leave `into` open.

    Texts by their names come first. OSError if a file is missing or no regular file.
    """
    with (
        pa.CompressedOutputStream(pa.PythonFile(_Borrowed(into), mode="w"), "zstd") as packed,
        tarfile.open(fileobj=packed, mode="w|", format=tarfile.PAX_FORMAT) as archive,
    ):
        for name, text in sorted((texts or {}).items()):
            data = text.encode()
            entry = tarfile.TarInfo(name)
            entry.size, entry.mode = len(data), _PLAIN
            archive.addfile(entry, io.BytesIO(data))
        for name in sorted(names):
            with files.open_regular(folder / name) as file:
                status = (folder / name).stat()
                entry = tarfile.TarInfo(name)
                entry.size = status.st_size
                entry.mode = _EXECUTABLE if status.st_mode & 0o100 else _PLAIN
                archive.addfile(entry, file)


def unpack(packed: BinaryIO, into: Path, most_bytes: int = LARGEST_UNPACKED_BYTES) -> list[str]:
    """Unpack a packed file into an empty folder and return the files' names; close nothing.

    Raise InputError if it is damaged, holds anything but files, names one twice or outside of the folder, or is
    longer than `most_bytes`; the folder may hold a part of it then. OSError if there is no room.
    """
    names: list[str] = []
    left_bytes = most_bytes
    with _damage_named():
        stream = pa.CompressedInputStream(pa.PythonFile(packed, mode="r"), "zstd")
        with stream, tarfile.open(fileobj=_Reader(stream), mode="r|", tarinfo=BoundedEntry) as archive:
            for entry in archive:
                target = _target(entry, into)
                left_bytes -= entry.size
                if left_bytes < 0:
                    raise InputError(f"a packed folder has more than {most_bytes} bytes", _HINT)
                target.parent.mkdir(parents=True, exist_ok=True)
                source = archive.extractfile(entry)
                if source is None:
                    raise InputError(f"{entry.name!r} of a packed folder has no content", _HINT)
                with target.open("xb") as file:
                    while chunk := source.read(_CHUNK_BYTES):
                        file.write(chunk)
                target.chmod(_EXECUTABLE if entry.mode & 0o100 else _PLAIN)
                names.append(entry.name)
    return names


class _Borrowed(io.RawIOBase):
    """A file that stays open when pyarrow closes what it writes to."""

    def __init__(self, file: BinaryIO) -> None:
        self._file = file

    def writable(self) -> bool:
        return True

    def write(self, data: "Buffer") -> int:
        return self._file.write(data)


class _Reader(io.RawIOBase):
    """A stream of pyarrow as a file, for `tarfile`, which takes less than it asked for as the end."""

    def __init__(self, stream: pa.CompressedInputStream) -> None:
        self._stream = stream

    def read(self, size: int = -1) -> bytes:
        parts: list[bytes] = []
        while size > 0 and (part := self._stream.read(size)):
            parts.append(part)
            size -= len(part)
        return b"".join(parts)


@contextmanager
def _damage_named() -> Iterator[None]:
    try:
        yield
    except FileExistsError as error:
        raise InputError(f"a packed folder has a file twice: {error.filename}", _HINT) from error
    except InputError:
        raise
    except (TooLongHeaderError, tarfile.TarError, EOFError, pa.ArrowException, ValueError, RecursionError) as error:
        raise InputError(f"a packed folder is damaged: {error}", _HINT) from error
    except OSError as error:
        if error.errno is None or error.errno in _UNFIT:  # None of pyarrow: it is no zstd, or ends too early
            raise InputError(f"a packed folder is damaged: {error}", _HINT) from error
        raise


def _target(entry: tarfile.TarInfo, into: Path) -> Path:
    if not entry.isreg() or not is_below(entry.name):
        raise InputError(f"{entry.name!r} of a packed folder is not a file below it", _HINT)
    return into / entry.name


def is_below(name: str) -> bool:
    """Return whether a name is a plain path of something below a folder: it leads nowhere else, in one spelling."""
    path = PurePosixPath(name)
    is_plain = name != "." and str(path) == name and "\0" not in name
    return is_plain and not path.is_absolute() and ".." not in path.parts
