"""A bundle's file: a zip that is the same for the same contents, and that is not trusted when it is read.

Every member is checked before the first is unpacked: names that leave the folder, links, folders, members twice, more
bytes than a bundle may have. Every byte that is unpacked has the digest of SHA256SUMS.
"""

import hashlib
import json
import shutil
import stat
import zipfile
import zlib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path, PurePosixPath

from longlook.core import InputError, LonglookError, MachineError, files
from longlook.instruments.bundle.layout import ABOUT, SUMS, About, read_about
from longlook.store import is_below

MOST_FILES = 1_000_000
LARGEST_BYTES = 1 << 35
"""The most bytes of all files of a bundle together, unpacked: 32 GiB."""
_LARGEST_RATIO = 1032
"""By so much does Deflate shorten at most."""
_LARGEST_LIST_BYTES = 256 << 20
_CHUNK_BYTES = 1 << 20
_EPOCH = (1980, 1, 1, 0, 0, 0)
"""The only time in a bundle: the first that a zip can have."""
_LEVEL = 6
_PACKED_ALREADY = (".png", ".parquet", ".zst", ".gz", ".pdf", ".woff2")
_EDITED = "it was edited or damaged: get it again"
_HINT = "it was cut, edited, or is no bundle: get it again"


def write_bundle(out: Path, contents: Mapping[str, Path | bytes], executables: frozenset[str]) -> str:
    """Write a bundle of these contents, by name, and the list of their digests; return the digest of the file itself.

    It gets its name when it is whole. The same contents give the same bytes, with one version of zlib.
    """
    partial = out.with_name(f".{out.name}.new")
    try:
        with zipfile.ZipFile(partial, "w") as archive:
            sums = {name: _write(archive, name, contents[name], name in executables) for name in sorted(contents)}
            listed = "".join(f"{digest}  {name}\n" for name, digest in sums.items())
            _write(archive, SUMS, listed.encode(), is_program=False)
        digest = files.digest(partial)
        partial.replace(out)
    except BaseException:
        partial.unlink(missing_ok=True)
        raise
    return digest


def _write(archive: zipfile.ZipFile, name: str, content: Path | bytes, is_program: bool) -> str:
    """Write a member and return its digest."""
    entry = zipfile.ZipInfo(name, _EPOCH)
    entry.create_system = 3  # Unix, on every machine
    entry.external_attr = (stat.S_IFREG | (0o755 if is_program else 0o644)) << 16
    entry.compress_type = zipfile.ZIP_STORED if name.endswith(_PACKED_ALREADY) else zipfile.ZIP_DEFLATED
    entry._compresslevel = _LEVEL  # type: ignore[attr-defined]
    if isinstance(content, bytes):
        archive.writestr(entry, content)
        return hashlib.sha256(content).hexdigest()
    found = hashlib.sha256()
    entry.file_size = content.stat().st_size
    with files.open_regular(content) as source, archive.open(entry, "w") as target:
        while chunk := source.read(_CHUNK_BYTES):
            target.write(chunk)
            found.update(chunk)
    return found.hexdigest()


def unpack_bundle(path: Path, into: Path) -> About:
    """Unpack a bundle into an empty folder, check every file, and return the facts about it.

    Raise InputError if it is no bundle, cut, of a newer format, or holds what a bundle does not. Raise LonglookError if
    a file is not what the list says, MachineError if there is no room. The folder may then hold a part of it.
    """
    with _damage_named(path), zipfile.ZipFile(path) as archive:
        members = _checked_members(path, archive)
        if ABOUT not in members or SUMS not in members:
            raise InputError(f"{path} is no bundle of Longlook: it has no {SUMS} and {ABOUT}", "longlook bundle RUN")
        about = read_about(json.loads(_text(archive, members[ABOUT])))
        sums = _sums(path, _text(archive, members[SUMS]))
        _expect_listed(path, members, sums)
        _expect_room(path, members, into)
        for name, member in members.items():
            digest = _unpack(archive, member, into / name)
            if name != SUMS and digest != sums[name]:
                raise LonglookError(f"{path}: {name} is not what {SUMS} says", _EDITED)
    return about


def _checked_members(path: Path, archive: zipfile.ZipFile) -> dict[str, zipfile.ZipInfo]:
    """Return the members by name; InputError for anything that no bundle has."""
    entries = archive.infolist()
    if len(entries) > MOST_FILES:
        raise InputError(f"{path} has {len(entries)} files; allowed: at most {MOST_FILES}", _HINT)
    found: dict[str, zipfile.ZipInfo] = {}
    total = 0
    for entry in entries:
        if entry.filename.endswith("/") and entry.file_size == 0:
            continue  # a folder, which other programs write beside its files; nothing is made of it
        if (what := _unfit(entry)) is not None:
            raise InputError(f"{path}: {entry.filename!r} is not unpacked: it {what}", _HINT)
        if entry.filename in found:
            raise InputError(f"{path} has {entry.filename!r} twice", _HINT)
        found[entry.filename] = entry
        total += entry.file_size
        if total > LARGEST_BYTES or entry.file_size > _LARGEST_RATIO * entry.compress_size + 64:
            raise InputError(f"{path}: unpacked, {entry.filename!r} would be larger than a bundle's files are", _HINT)
    return found


def _unfit(entry: zipfile.ZipInfo) -> str | None:
    """Return in a clause why a member is none of a bundle; None if it may be one."""
    name = entry.orig_filename
    place = PurePosixPath(name)
    if not is_below(name) or "\\" in name:
        return "would leave the folder, or is no plain name"
    if not all(part.isprintable() and len(part.encode()) <= 255 for part in place.parts):
        return "has a name that no file of a bundle has"
    kind = stat.S_IFMT(entry.external_attr >> 16)
    if kind not in (0, stat.S_IFREG):
        return "is a link, a folder or a device"
    if entry.flag_bits & 0x1:
        return "is encrypted"
    if entry.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
        return "is packed in another way than a bundle's files"
    return None


def _text(archive: zipfile.ZipFile, member: zipfile.ZipInfo) -> str:
    if member.file_size > _LARGEST_LIST_BYTES:
        raise InputError(f"{member.filename} of the bundle has {member.file_size} bytes", _HINT)
    return archive.read(member).decode()


def _sums(path: Path, text: str) -> dict[str, str]:
    found: dict[str, str] = {}
    for line in text.splitlines():
        digest, blanks, name = line[:64], line[64:66], line[66:]
        if blanks != "  " or not name or name in found or set(digest) - set("0123456789abcdef"):
            raise InputError(f"{path}: {SUMS} is damaged: {line[:80]!r}", _HINT)
        found[name] = digest
    return found


def _expect_listed(path: Path, members: Mapping[str, object], sums: Mapping[str, str]) -> None:
    there = members.keys() - {SUMS}
    for name in sorted(there - sums.keys()):
        raise LonglookError(f"{path}: {name} was added: {SUMS} does not have it", _EDITED)
    for name in sorted(sums.keys() - there):
        raise LonglookError(f"{path}: {name} is missing", _EDITED)


def _expect_room(path: Path, members: Mapping[str, zipfile.ZipInfo], into: Path) -> None:
    needed, free = sum(member.file_size for member in members.values()), shutil.disk_usage(into).free
    if needed > free:
        mebibytes = f"{needed >> 20} MiB unpacked, and {free >> 20} MiB are free in {into}"
        raise MachineError(f"{path} has {mebibytes}", "make room, or set TMPDIR to a larger disk")


def _unpack(archive: zipfile.ZipFile, member: zipfile.ZipInfo, target: Path) -> str:
    """Write a member's file and return its digest."""
    target.parent.mkdir(parents=True, exist_ok=True)
    found = hashlib.sha256()
    with archive.open(member) as source, target.open("xb") as file:
        while chunk := source.read(_CHUNK_BYTES):
            file.write(chunk)
            found.update(chunk)
    target.chmod(0o755 if member.external_attr >> 16 & 0o100 else 0o644)
    return found.hexdigest()


@contextmanager
def _damage_named(path: Path) -> Iterator[None]:
    try:
        yield
    except FileNotFoundError as error:
        raise InputError(f"{path}: there is no such file", "name a bundle or a run folder") from error
    except (FileExistsError, NotADirectoryError, IsADirectoryError) as error:
        raise InputError(f"{path}: a name in it is a file and a folder: {error.filename}", _HINT) from error
    except (zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError, RuntimeError) as error:
        raise InputError(f"{path} is no sound bundle: {error}", _HINT) from error
    except (ValueError, RecursionError) as error:
        raise InputError(f"{path}: {ABOUT} or {SUMS} is damaged: {error}", _HINT) from error
