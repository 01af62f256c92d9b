"""Files that will be built: read once, described by a digest, and copied into the cache under that digest."""

import hashlib
import os
import stat
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from longlook.core import InputError, content_hash

MOST_FILES = 200_000
MOST_BYTES = 2 << 30
_CACHE = "CACHEDIR.TAG"  # in folders that programs fill again, such as cargo's target
_NOT_SOURCES = frozenset({".git", ".hg", ".svn", ".jj", "__pycache__"})


@dataclass(frozen=True)
class File:
    """A file: its contents or the target of a symbolic link."""

    contents: bytes
    is_executable: bool = False
    is_link: bool = False


Files = Mapping[PurePosixPath, File]


def read_folder(folder: Path, listed: Iterable[Path] | None = None) -> Files:
    """Return the files below a folder: those `listed`, relative to it, or all except a version control's own.

    InputError if it is no folder, holds what is no file, is too large, or changes while it is read.
    """
    if not folder.is_dir():
        raise InputError(f"there is no folder {folder}", "name the folder of a stack's sources")
    names = sorted(map(str, listed if listed is not None else _walked(folder)))
    if len(names) > MOST_FILES:
        raise InputError(f"{folder} has more than {MOST_FILES:,} files", "name the folder of the stack alone")
    before = [_state(folder / name) for name in names]
    if sum(size for _, size, _ in before) > MOST_BYTES:
        raise InputError(f"{folder} has more than {MOST_BYTES >> 30} GiB", "name the folder of the stack alone")
    found = {PurePosixPath(name): _read(folder, name) for name in names}
    if before != [_state(folder / name) for name in names]:
        raise InputError(f"{folder} changed while it was read", "wait until nothing writes there, and try again")
    return found


def read_copy(folder: Path) -> Files:
    """Return all files below the folder of a copy."""
    return read_folder(
        folder, [path.relative_to(folder) for path in folder.rglob("*") if path.is_symlink() or not path.is_dir()]
    )


def _walked(folder: Path) -> Iterable[Path]:
    for root, folders, names in os.walk(folder):
        folders[:] = sorted(
            name for name in folders if name not in _NOT_SOURCES and not (Path(root) / name / _CACHE).exists()
        )
        links = [name for name in folders if (Path(root) / name).is_symlink()]
        yield from (Path(root, name).relative_to(folder) for name in (*names, *links))


def _state(path: Path) -> tuple[int, int, int]:
    try:
        found = path.lstat()
    except FileNotFoundError:
        return 0, 0, 0
    return found.st_mode, found.st_size, found.st_mtime_ns


def _read(folder: Path, name: str) -> File:
    path = folder / name
    mode = path.lstat().st_mode
    if stat.S_ISLNK(mode):
        return File(os.fsencode(path.readlink()), is_link=True)
    if not stat.S_ISREG(mode):
        raise InputError(f"{path} is no file", "sockets, pipes and devices are no sources: remove it")
    return File(path.read_bytes(), bool(mode & stat.S_IXUSR))


def digest_of(files: Files) -> str:
    """Return a digest of the paths, the permission to execute and the contents of files; 64 hexadecimal digits."""
    rows = [
        (str(path), file.is_executable, file.is_link, hashlib.sha256(file.contents).hexdigest())
        for path, file in sorted(files.items())
    ]
    return content_hash(rows, length=64)


def write_files(files: Files, into: Path) -> None:
    """Write files into a new folder; InputError if one would be outside of it, or a link leads out of it."""
    into.mkdir(parents=True)
    for path, file in sorted(files.items()):
        if path.is_absolute() or ".." in path.parts or ".git" in path.parts:
            raise InputError(f"the sources have a file {path}", "a path below the folder, without .. and .git")
        place = into / path
        place.parent.mkdir(parents=True, exist_ok=True)
        if file.is_link:
            target = os.fsdecode(file.contents)
            inside = os.path.normpath(path.parent / target)
            if target.startswith("/") or inside.startswith(".."):
                raise InputError(f"the link {path} leads out of the sources, to {target}", "put a copy in its place")
            place.symlink_to(target)
        else:
            place.write_bytes(file.contents)
            place.chmod(0o755 if file.is_executable else 0o644)
