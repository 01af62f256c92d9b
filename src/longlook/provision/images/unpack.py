"""A file or a folder with an image → its identity, and its root unpacked in the cache."""

import hashlib
import json
import os
import stat
import tarfile
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from longlook.core import InputError
from longlook.provision.build_cache import filled
from longlook.provision.images import bounds
from longlook.provision.images.archive import (
    Blob,
    Container,
    Described,
    described,
    is_layout,
    object_in,
    open_blob,
    opened,
    read_blob,
)
from longlook.provision.images.config import (
    USUAL_ENTRY_POINT,
    ImageConfig,
    machine_architecture,
    parse_config,
)
from longlook.provision.images.layers import Unpacking
from longlook.provision.images.record import ROOT, ImageRecord, image_folder, is_unpacked, prune, write_record
from longlook.provision.images.refusal import refusal
from longlook.provision.progress import report_step

_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
_OF_PROGRAMS = frozenset({"usr", "bin", "sbin", "lib", "lib32", "lib64", "libx32", "boot", "dev", "proc", "sys"})
_CONFIG, _LAYER = "config.json", "layer.tar"


@dataclass(frozen=True)
class Chosen:
    """One image of a file or a folder, whose configuration was read. `digest` has 64 hexadecimal digits."""

    container: Container
    described: Described
    config: ImageConfig
    digest: str
    image: str  # as people named it


@contextmanager
def chosen(path: Path, tag: str) -> Iterator[Chosen]:
    """Yield the image of a file or a folder: the image with the name `tag`, or the only image if that is empty.

    InputError if there is no such image, or several, or it is damaged or for other machines.
    """
    image = f"{path}#{tag}" if tag else str(path)
    if path.is_dir() and not is_layout(path):
        if tag:
            raise InputError(f"{path} is an unpacked root, which has no tags", f"write image:{path}")
        with tempfile.TemporaryDirectory(prefix="longlook-image-") as temporary:
            yield _read(*_packed(path, Path(temporary)), image)
        return
    with opened(path) as container:
        yield _read(container, _pick(described(container, image), path, tag), image)


def unpacked(found: Chosen) -> Path:
    """Return the folder of the cache with the root of an image; unpack it first if it is not there.

    InputError if the image is damaged, too large, or its program cannot be started.
    """

    def fill(into: Path) -> None:
        report_step(f"unpacking {len(found.described.layers)} layers of {found.image} …")
        root = into / ROOT
        root.mkdir()
        root.chmod(0o755)
        unpacking = Unpacking(root, found.image)
        for blob, diff_id in zip(found.described.layers, found.config.diff_ids, strict=True):
            with open_blob(found.container, blob, found.image) as stream:
                unpacking.add(stream, blob.digest, diff_id)
        unpacking.finish()
        write_record(into, _record(unpacking, found))

    folder = filled(image_folder(found.digest), is_unpacked, fill)
    for removed in prune(folder):
        report_step(f"removed the image {removed[:7]}, which was used longest ago")
    return folder


def _read(container: Container, picked: Described, image: str) -> Chosen:
    data = read_blob(container, picked.config, image)
    config = parse_config(object_in(data, picked.config, image), image, picked.architecture)
    if len(config.diff_ids) != len(picked.layers):
        problem = f"is damaged: it has {len(picked.layers)} layers and {len(config.diff_ids)} digests of layers"
        raise refusal(image, problem, "damaged")
    return Chosen(container, picked, config, hashlib.sha256(data).hexdigest(), image)


def _pick(found: list[Described], path: Path, tag: str) -> Described:
    """Return the image that is meant; one that is for this machine, if an index has several of one name."""
    fitting = [each for each in found if not tag or any(_is_called(name, tag) for name in each.names)]
    if not fitting:
        known = ", ".join(name for each in found for name in each.names) or "none has a name"
        raise InputError(f"{path} has no image {tag}", f"it has: {known}")
    mine = [each for each in fitting if each.architecture in ("", machine_architecture())]
    by_config = {each.config: each for each in mine or fitting[:1]}  # one of another machine: read, and refused
    if len(by_config) > 1:
        names = ", ".join(name for each in by_config.values() for name in each.names) or "but none has a name"
        raise InputError(f"{path} has {len(by_config)} images: {names}", f"name one: image:{path}#NAME:TAG")
    return next(iter(by_config.values()))


def _is_called(name: str, tag: str) -> bool:
    return name == tag or name.endswith((f"/{tag}", f":{tag}"))


def _record(unpacking: Unpacking, found: Chosen) -> ImageRecord:
    config = found.config
    if not config.folder.startswith("/"):
        raise refusal(found.image, f"begins in {config.folder[:100]!r}, which is no absolute path", "damaged")
    folder = unpacking.resolved(config.folder) or unpacking.root
    inside = str(PurePosixPath("/", folder.relative_to(unpacking.root)))
    return ImageRecord(
        digest=found.digest,
        argv=(_entry_point(unpacking, config, inside, found.image), *config.argv[1:]),
        env=config.env,
        folder=inside,
        writable=tuple(_writable(unpacking, (inside, *config.volumes))),
        byte_count=unpacking.byte_count,
        entries=unpacking.entries,
        devices=unpacking.devices,
        names=found.described.names,
        created=config.created,
        layers=config.diff_ids,
    )


def _entry_point(unpacking: Unpacking, config: ImageConfig, folder: str, image: str) -> str:
    """Return the path of the program that the image starts; InputError if it could not be executed."""
    first = config.argv[0]
    search = [folder] if "/" in first else config.env.get("PATH", _PATH).split(":")
    candidates = [first] if first.startswith("/") else [str(PurePosixPath(place, first)) for place in search if place]
    for path in candidates:
        file = unpacking.resolved(path)
        if file is None or not file.is_file():
            continue
        if not file.stat().st_mode & 0o111:
            raise InputError(f"the entry point {path} of the image {image} is not executable", "chmod +x it there")
        _expect_interpreter(unpacking, file, path, image)
        return path
    raise InputError(
        f"the image {image} does not have its entry point {first}",
        "see: docker inspect -f '{{.Config.Entrypoint}}' IMAGE",
    )


def _expect_interpreter(unpacking: Unpacking, file: Path, path: str, image: str) -> None:
    with file.open("rb") as stream:
        head = stream.read(256)
    if not head.startswith(b"#!"):
        return
    words = head[2:].split(b"\n")[0].split()
    interpreter = os.fsdecode(words[0]) if words else ""
    if unpacking.resolved(interpreter) is None:
        raise InputError(
            f"the entry point {path} of the image {image} needs {interpreter}, which the image does not have",
            "add it to the image, or make a program without a shell its entry point",
        )


def _writable(unpacking: Unpacking, named: tuple[str, ...]) -> list[str]:
    """Return the folders in which the program may make files: all but the folders of programs and libraries.

    Folders that the image opens to everybody count wherever they are, as do its volumes and its first folder.
    """
    found = {path for path in unpacking.open_folders if path != "."}
    for top, names, _files in os.walk(unpacking.root):
        inside = Path(top).relative_to(unpacking.root)
        if not inside.parts:
            names[:] = [name for name in names if name not in _OF_PROGRAMS]
        else:
            found.add(inside.as_posix())
        if len(found) > bounds.MOST_WRITABLE:
            break
    for each in named:
        place = unpacking.resolved(each) if each.startswith("/") else None
        if place is not None and place.is_dir() and place != unpacking.root:
            found.add(place.relative_to(unpacking.root).as_posix())
    readable = [path for path in found if _is_text(path) and path.split("/")[0] not in ("dev", "proc", "sys")]
    return sorted(readable, key=lambda path: (path.count("/"), path))[: bounds.MOST_WRITABLE]


def _is_text(path: str) -> bool:
    try:
        path.encode()
    except UnicodeEncodeError:
        return False
    return True


def _packed(folder: Path, into: Path) -> tuple[Container, Described]:
    """Return an unpacked root as an image of one layer, with the interop runner's entry point."""
    if not (folder / USUAL_ENTRY_POINT.removeprefix("/")).is_file():
        raise InputError(
            f"{folder} is no OCI folder, and no unpacked root with {USUAL_ENTRY_POINT}",
            f"put the program's start into {folder}{USUAL_ENTRY_POINT}",
        )
    counted = [0, 0]

    def taken(member: tarfile.TarInfo) -> tarfile.TarInfo:
        counted[0] += 1
        counted[1] += member.size
        if counted[0] > bounds.MOST_ENTRIES or counted[1] > bounds.MOST_BYTES:
            raise refusal(str(folder), "has too many files for an image", "large")
        member.uid = member.gid = member.mtime = 0
        member.uname = member.gname = ""
        member.mode = stat.S_IMODE(member.mode)
        return member

    try:
        with tarfile.open(into / _LAYER, "w") as archive:
            archive.add(folder, ".", filter=taken)
    except OSError as error:
        raise InputError(f"the image {folder} cannot be read: {error}", "make its files readable") from error
    with (into / _LAYER).open("rb") as stream:
        diff_id = f"sha256:{hashlib.file_digest(stream, 'sha256').hexdigest()}"
    config = {
        "architecture": machine_architecture(),
        "os": "linux",
        "config": {"Entrypoint": [USUAL_ENTRY_POINT]},
        "rootfs": {"type": "layers", "diff_ids": [diff_id]},
    }
    (into / _CONFIG).write_text(json.dumps(config, sort_keys=True))
    with opened(into) as container:
        return container, Described((), Blob(_CONFIG, ""), (Blob(_LAYER, diff_id),))
