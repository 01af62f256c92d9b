"""Unpacks the layers of an image into a folder: tar archives, each on top of the ones before (OCI image-spec, layer).

The folder is a file system with a root of its own: absolute links begin there, and no path may lead out of it. Files
get no owner, no setuid or setgid bit and no attributes; they can be read by every user and written by their owner only.
"""

import hashlib
import os
import shutil
import stat
import tarfile
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any

from longlook.provision.images import bounds
from longlook.provision.images.refusal import refusal
from longlook.store import BoundedEntry, TooLongHeaderError

_REMOVED, _REMOVED_ALL, _OTHER_MARK = ".wh.", ".wh..wh..opq", ".wh..wh."
_DEVICES = "dev"
_CHUNK_BYTES = 1 << 20
_LATEST_S = (1 << 32) - 1
_GZIP, _ZSTD = b"\x1f\x8b", b"\x28\xb5\x2f\xfd"


def open_tar(path: Path) -> tarfile.TarFile:
    """Open a tar archive, packed or not, whose headers are bounded."""
    return tarfile.open(path, "r:*", tarinfo=BoundedEntry)


class _Hashed:
    """A stream that is read once from its begin, with the digest and the number of the bytes that were read."""

    def __init__(self, inner: Any, most_bytes: int, too_long: Callable[[], Exception]) -> None:
        self._inner, self._most_bytes, self._too_long = inner, most_bytes, too_long
        self._head = b""
        self._sha256 = hashlib.sha256()
        self.count = 0

    def peek(self, size: int) -> bytes:
        """Return the first bytes without taking them."""
        self._head = self._inner.read(size)
        return self._head

    def read(self, size: int = -1) -> bytes:
        size = _CHUNK_BYTES if size < 0 else size
        head, self._head = self._head[:size], self._head[size:]
        data: bytes = head or bytes(self._inner.read(size))
        self._sha256.update(data)
        self.count += len(data)
        if self.count > self._most_bytes:
            raise self._too_long()
        return data

    def finish(self) -> str:
        """Read the rest, and return the digest of all of it."""
        while self.read(_CHUNK_BYTES):
            pass
        return f"sha256:{self._sha256.hexdigest()}"

    # What gzip and pyarrow ask of a stream:
    closed = False

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return False

    def writable(self) -> bool:
        return False

    def flush(self) -> None:
        """Do nothing."""

    def close(self) -> None:
        """Do nothing: whoever opened the inner stream closes it."""


@dataclass
class Unpacking:
    """A root that layers are unpacked into; it is new, and nobody else writes there. `image` is its name in errors."""

    root: Path
    image: str
    entries: int = 0
    byte_count: int = 0
    devices: int = 0
    open_folders: set[str] = field(default_factory=set)  # those that every user may write to by their mode
    _times: dict[Path, int] = field(default_factory=dict)

    def add(self, blob: IO[bytes], digest: str, unpacked_digest: str) -> None:
        """Put a layer on top, and check its digests: of the blob and of what is packed in it, "" if one is not known.

        InputError if it is damaged, too large, or does what no image needs to do.
        """
        packed = _Hashed(blob, bounds.MOST_BYTES, self._too_large)
        with self._damage_named():
            plain = _Hashed(_unpacked(packed), bounds.MOST_BYTES, self._too_large)
            added: set[Path] = set()
            with tarfile.open(fileobj=plain, mode="r|", tarinfo=BoundedEntry, errorlevel=1) as archive:  # type: ignore[call-overload]
                for member in archive:
                    self._take(archive, member, added)
                    archive.members = []  # tarfile remembers each entry for ever
            found = plain.finish(), packed.finish()
        for what, stated, computed in (("", unpacked_digest, found[0]), ("packed ", digest, found[1])):
            if stated and stated != computed:
                problem = f"is damaged: a {what}layer has the digest {computed[:19]}…, not {stated[:19]}…"
                raise refusal(self.image, problem, "damaged")

    def finish(self) -> None:
        """Set the times of folders, once no layer changes them any more."""
        for folder, seconds in self._times.items():
            if folder.is_dir() and not folder.is_symlink():
                os.utime(folder, (seconds, seconds))

    def resolved(self, path: str) -> Path | None:
        """Return what a path of the image leads to, through links of its own root; None if nothing is there."""
        place = self._followed(_parts(path))
        return place if os.path.lexists(place) else None

    @contextmanager
    def _damage_named(self) -> Iterator[None]:
        try:
            yield
        except TooLongHeaderError as error:
            raise refusal(self.image, "has a header of more than 1 MiB", "hostile") from error
        except (tarfile.TarError, EOFError, zlib.error, UnicodeError) as error:
            raise refusal(self.image, f"is damaged: a layer cannot be read ({error})", "damaged") from error
        except OSError as error:
            if error.errno is not None and not isinstance(error, (FileExistsError, NotADirectoryError)):
                if error.strerror == os.strerror(36):  # ENAMETOOLONG
                    raise refusal(self.image, "has a name that is too long for a file", "hostile") from error
                raise
            raise refusal(self.image, f"is damaged: a layer cannot be read ({error})", "damaged") from error

    def _too_large(self) -> Exception:
        return refusal(self.image, f"has more than {bounds.MOST_BYTES >> 30} GiB", "large")

    def _take(self, archive: tarfile.TarFile, member: tarfile.TarInfo, added: set[Path]) -> None:
        self.entries += 1
        if self.entries > bounds.MOST_ENTRIES:
            raise refusal(self.image, f"has more than {bounds.MOST_ENTRIES:,} entries", "large")
        parts = self._inside(member.name)
        if not parts:
            return
        if parts[-1].startswith(_REMOVED):
            self._remove(parts, added)
            return
        if not (member.isreg() or member.isdir() or member.issym() or member.islnk()):
            if parts[0] != _DEVICES:
                raise refusal(self.image, f"has a device or a pipe outside of /dev: {_shown(member.name)}", "hostile")
            self.devices += 1
            return
        place = self._parent(parts) / parts[-1]
        added.update((place, *place.parents[: len(place.parts) - len(self.root.parts) - 1]))
        if member.isdir():
            self._add_folder(place, member)
            return
        _clear(place)
        if member.issym():
            if not member.linkname or "\0" in member.linkname:
                raise refusal(self.image, f"has a link without a target: {_shown(member.name)}", "hostile")
            place.symlink_to(member.linkname)
        elif member.islnk():
            self._add_hard_link(place, member)
        else:
            self._add_file(place, archive, member)

    def _add_folder(self, place: Path, member: tarfile.TarInfo) -> None:
        if place.is_symlink() or not place.is_dir():
            _clear(place)
            place.mkdir()
        place.chmod(0o755)
        self._times[place] = _time_of(member)
        path = place.relative_to(self.root).as_posix()
        (self.open_folders.add if member.mode & stat.S_IWOTH else self.open_folders.discard)(path)

    def _add_hard_link(self, place: Path, member: tarfile.TarInfo) -> None:
        parts = self._inside(member.linkname)
        target = self._parent(parts) / parts[-1] if parts else self.root
        if not os.path.lexists(target) or (target.is_dir() and not target.is_symlink()):
            problem = f"has a hard link to what is no file before it: {_shown(member.name)}"
            raise refusal(self.image, problem, "damaged")
        os.link(target, place, follow_symlinks=False)

    def _add_file(self, place: Path, archive: tarfile.TarFile, member: tarfile.TarInfo) -> None:
        self.byte_count += member.size
        if member.size > bounds.MOST_FILE_BYTES or self.byte_count > bounds.MOST_BYTES:
            raise self._too_large()
        source = archive.extractfile(member)
        if source is None:
            raise refusal(self.image, f"is damaged: {_shown(member.name)} has no content", "damaged")
        with place.open("xb") as out:
            shutil.copyfileobj(source, out, _CHUNK_BYTES)
        place.chmod(0o755 if member.mode & 0o111 else 0o644)
        os.utime(place, (_time_of(member), _time_of(member)))

    def _remove(self, parts: list[str], added: set[Path]) -> None:
        """Apply a mark that removes what layers below have: one name, or all that a folder has."""
        mark = parts[-1]
        folder = self._parent(parts)
        if mark == _REMOVED_ALL:
            for each in list(folder.iterdir()):
                self._remove_below(each, added)
            return
        if mark.startswith(_OTHER_MARK):
            return  # a note of the tool that made the layer
        name = mark.removeprefix(_REMOVED)
        if name in ("", ".", ".."):
            raise refusal(self.image, f"has a mark that removes no name: {_shown('/'.join(parts))}", "hostile")
        _clear(folder / name)

    def _remove_below(self, place: Path, added: set[Path]) -> None:
        """Remove what this layer has not added itself."""
        if place not in added:
            _clear(place)
        elif place.is_dir() and not place.is_symlink():
            for each in list(place.iterdir()):
                self._remove_below(each, added)

    def _inside(self, name: str) -> list[str]:
        """Return the parts of a path; InputError if it is absolute, or leads upwards."""
        if name.startswith("/") or ".." in name.split("/"):
            raise refusal(self.image, f"has a path that leads out of its root: {_shown(name)}", "hostile")
        return _parts(name)

    def _parent(self, parts: list[str]) -> Path:
        """Return the folder that an entry is in, which is made if no entry has come for it."""
        folder = self._followed(parts[:-1])
        if not folder.is_dir():
            if os.path.lexists(folder):
                raise refusal(self.image, f"has a file below what is no folder: {_shown('/'.join(parts))}", "damaged")
            folder.mkdir(parents=True, mode=0o755)
        return folder

    def _followed(self, parts: list[str]) -> Path:
        """Return the path in the root that parts lead to, through its links; InputError if they lead out of it."""
        rest, found, links = list(reversed(parts)), list[str](), 0
        while rest:
            part = rest.pop()
            if part == "..":
                if not found:
                    way = _shown("/".join(parts))
                    raise refusal(self.image, f"has a link out of its root on the way to {way}", "hostile")
                found.pop()
                continue
            place = self.root.joinpath(*found, part)
            if not place.is_symlink():
                found.append(part)
                continue
            links += 1
            if links > bounds.MOST_LINKS:
                raise refusal(self.image, f"has links in a circle: {_shown('/'.join(parts))}", "hostile")
            target = str(place.readlink())
            if target.startswith("/"):
                found = []
            rest += [each for each in reversed(target.split("/")) if each not in ("", ".")]
        return self.root.joinpath(*found)


def _parts(name: str) -> list[str]:
    return [part for part in name.split("/") if part not in ("", ".")]


def _unpacked(stream: _Hashed) -> Any:
    """Return a stream of what is packed, which its first bytes show."""
    head = stream.peek(4)
    if head.startswith(_GZIP):
        import gzip

        return gzip.GzipFile(fileobj=stream)  # type: ignore[call-overload]
    if head == _ZSTD:
        import pyarrow as pa

        return pa.CompressedInputStream(pa.PythonFile(stream, mode="r"), "zstd")
    return stream


def _clear(place: Path) -> None:
    if place.is_dir() and not place.is_symlink():
        shutil.rmtree(place)
    else:
        place.unlink(missing_ok=True)


def _time_of(member: tarfile.TarInfo) -> int:
    return max(0, min(int(member.mtime), _LATEST_S))


def _shown(name: str) -> str:
    return name[:100].encode(errors="backslashreplace").decode().replace("\n", "\\n")
