"""Entries of the cache that travel: a folder by the digest of its tree, packed into one blob and placed again.

A tree is every file, link and folder below an entry, with the SHA-256 of each file's content and whether it may be
executed. Owners and times are not in it. An entry keeps its path below the cache, because every guest sees the cache
at one place and programs see their own path.
"""

import hashlib
import json
import os
import stat
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from io import BytesIO
from pathlib import Path, PurePosixPath

from longlook.core import InputError, MachineError, content_hash, files
from longlook.store import is_below, pack, unpack

_DEPTHS = {"stacks": 4, "www": 2, "images": 2, "players": 2, "decoder": 2, "kernel": 2}
"""Folders of the cache, and how many parts the path of an entry below each has."""

_IDENTITIES = "tls"
_LENGTH_BYTES = 8
_LARGEST_LISTING_BYTES = 1 << 28
_FOLDER, _FILE, _PROGRAM, _LINK, _HOLE = "folder", "file", "program", "link", "hole"
_KINDS = (_FOLDER, _FILE, _PROGRAM, _LINK, _HOLE)
_HINT = "a worker or its network is broken, or it runs another Longlook"

Tree = Mapping[str, tuple[str, str]]
"""Path below the entry → kind and value: the digest of a file, the target of a link, the bytes of a hole."""


@dataclass(frozen=True)
class Entry:
    """An entry that a trial needs: its path below the cache, and the digest of its tree, 64 hexadecimal digits."""

    path: str
    digest: str


def entry_of(path: Path, cache: Path) -> str | None:
    """Return the path of the entry below a cache that a path is in; None if it is not below the cache.

    MachineError if the cache has a folder of which nobody knows how to send it.
    """
    if not path.is_relative_to(cache):
        return None
    parts = path.relative_to(cache).parts
    depth = 1 if parts and parts[0].startswith(_IDENTITIES) else _DEPTHS.get(parts[0] if parts else "", 0)
    if not 0 < depth <= len(parts):
        raise MachineError(f"{path} is of no kind that can be sent to a worker", "run it here: --executor local")
    return PurePosixPath(*parts[:depth]).as_posix()


def tree_of(folder: Path) -> dict[str, tuple[str, str]]:
    """Return the tree of a folder; OSError if it cannot be read, MachineError if a device or a pipe is in it."""
    return dict(sorted(_walk(folder, "")))


def digest_of(tree: Tree) -> str:
    """Return the digest of a tree."""
    return content_hash([[name, *tree[name]] for name in sorted(tree)], 64)


def packed(folder: Path, tree: Tree) -> bytes:
    """Return what a tree names in a folder as one blob: the listing's length, the listing, and the files packed."""
    listing = json.dumps(tree).encode()
    body = BytesIO()
    pack(folder, [name for name, (kind, _) in tree.items() if kind in (_FILE, _PROGRAM)], body)
    return len(listing).to_bytes(_LENGTH_BYTES, "little") + listing + body.getvalue()


def unpack_into(blob: bytes, folder: Path, digest: str) -> None:
    """Unpack a blob into an empty folder; InputError if that is not the entry of this digest, which the error names."""
    size = int.from_bytes(blob[:_LENGTH_BYTES], "little")
    tree = _listing(blob[_LENGTH_BYTES : _LENGTH_BYTES + min(size, _LARGEST_LISTING_BYTES)])
    if digest_of(tree) != digest:
        raise InputError(f"what came for the digest {digest} has the digest {digest_of(tree)}", _HINT)
    unpack(BytesIO(blob[_LENGTH_BYTES + size :]), folder)
    for name, (kind, value) in tree.items():
        place = folder / name
        if kind == _FOLDER:
            place.mkdir(parents=True, exist_ok=True)
        elif kind == _HOLE:
            place.parent.mkdir(parents=True, exist_ok=True)
            with place.open("xb") as file:
                file.truncate(int(value))
    for name, (kind, value) in tree.items():  # last, so that no file is ever written through a link
        if kind == _LINK:
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            (folder / name).symlink_to(value)
    for path in (folder, *folder.rglob("*")):
        if path.is_dir() and not path.is_symlink():
            path.chmod(0o755)
    found = digest_of(tree_of(folder))
    if found != digest:
        raise InputError(f"what came for the digest {digest} has the digest {found}", _HINT)


def _listing(text: bytes) -> dict[str, tuple[str, str]]:
    try:
        tree = {str(name): (str(kind), str(value)) for name, (kind, value) in json.loads(text).items()}
    except (ValueError, TypeError, AttributeError, RecursionError) as error:
        raise InputError(f"a blob's listing is damaged: {error}", _HINT) from error
    links = {name for name, (kind, _) in tree.items() if kind == _LINK}
    for name, (kind, _) in tree.items():
        leads_on = any(str(parent) in links for parent in PurePosixPath(name).parents)
        if not is_below(name) or kind not in _KINDS or leads_on:
            raise InputError(f"a blob names {name!r}, which is not below its folder", _HINT)
    return tree


def file_tree(file: Path) -> dict[str, tuple[str, str]]:
    """Return the tree that has one file alone."""
    return {file.name: _file(file)}


def _walk(folder: Path, prefix: str) -> Iterator[tuple[str, tuple[str, str]]]:
    with os.scandir(folder / prefix) as listing:
        for entry in listing:
            name = f"{prefix}{entry.name}"
            if entry.is_symlink():
                yield name, (_LINK, os.readlink(entry.path))  # noqa: PTH115
            elif entry.is_dir():
                yield name, (_FOLDER, "")
                yield from _walk(folder, f"{name}/")
            elif entry.is_file():
                yield name, _file(Path(entry.path))
            else:
                raise MachineError(f"{entry.path} is no file, and cannot be sent to a worker", "remove it")


def _file(path: Path) -> tuple[str, str]:
    with files.open_regular(path, most_bytes=1 << 62) as file:
        state = os.fstat(file.fileno())
        if state.st_size and not state.st_blocks and _is_hole(file.fileno()):
            return _HOLE, str(state.st_size)
        kind = _PROGRAM if stat.S_IMODE(state.st_mode) & 0o100 else _FILE
        return kind, hashlib.file_digest(file, "sha256").hexdigest()


def _is_hole(file: int) -> bool:
    """Return whether a file has no data at all: a workload serves zeros without end from such files."""
    with suppress(OSError):
        os.lseek(file, 0, os.SEEK_DATA)
        return False
    return True
