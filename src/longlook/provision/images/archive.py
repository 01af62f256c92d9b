"""The forms in which images come: archives of `docker save`, OCI archives and folders, unpacked roots."""

import hashlib
import json
import re
import tarfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any, Protocol

from longlook.core import InputError
from longlook.provision.images import bounds
from longlook.provision.images.layers import open_tar
from longlook.provision.images.refusal import refusal

_DIGEST = re.compile(r"sha256:[0-9a-f]{64}")
_INDEX, _LAYOUT, _SAVED = "index.json", "oci-layout", "manifest.json"
_INDEXES = ("application/vnd.oci.image.index.v1+json", "application/vnd.docker.distribution.manifest.list.v2+json")
_MANIFESTS = ("application/vnd.oci.image.manifest.v1+json", "application/vnd.docker.distribution.manifest.v2+json")
_LAYERS = re.compile(
    r"application/vnd\.(oci\.image\.layer(\.nondistributable)?\.v1\.tar(\+gzip|\+zstd)?"
    r"|docker\.image\.rootfs(\.foreign)?\.diff\.tar(\.gzip|\.zstd)?)"
)
_NAME_NOTES = ("io.containerd.image.name", "org.opencontainers.image.ref.name")
_FORMS = "an image is a file of docker save, an OCI archive, an OCI folder or a folder with /run_endpoint.sh"
_DEPTH = 4  # of indexes in an index


@dataclass(frozen=True)
class Blob:
    """A file of an image: its name in the archive, and its digest, "" if the form states none."""

    name: str
    digest: str


@dataclass(frozen=True)
class Described:
    """An image as an archive describes it: its configuration and its layers, the lowest first.

    `names` are what people call it, such as `picoquic:latest`.
    """

    names: tuple[str, ...]
    config: Blob
    layers: tuple[Blob, ...]
    architecture: str = ""  # that the index states; "" if it states none


class Container(Protocol):
    """A folder or an archive with the files of images."""

    def has(self, name: str) -> bool:
        """Return whether it has a file of this name."""
        ...

    def open(self, name: str) -> IO[bytes]:
        """Open a file; KeyError if there is none."""
        ...


@dataclass(frozen=True)
class _InFolder:
    folder: Path

    def has(self, name: str) -> bool:
        return self._place(name).is_file()

    def open(self, name: str) -> IO[bytes]:
        try:
            return self._place(name).open("rb")
        except OSError as error:
            raise KeyError(name) from error

    def _place(self, name: str) -> Path:
        place = self.folder / name
        if ".." in Path(name).parts or not place.resolve().is_relative_to(self.folder.resolve()):
            raise KeyError(name)
        return place


@dataclass(frozen=True)
class _InArchive:
    archive: tarfile.TarFile
    members: Mapping[str, tarfile.TarInfo]

    def has(self, name: str) -> bool:
        return name in self.members

    def open(self, name: str) -> IO[bytes]:
        found = self.members[name]
        for _ in range(bounds.MOST_LINKS):  # docker save writes a layer that several images share once
            if not (found.issym() or found.islnk()):
                break
            target = found.linkname if found.islnk() else str(Path(found.name).parent / found.linkname)
            found = self.members[_plain(target)]
        stream = self.archive.extractfile(found) if found.isreg() else None
        if stream is None:
            raise KeyError(name)
        return stream


@contextmanager
def opened(path: Path) -> Iterator[Container]:
    """Yield the files of an archive or of an OCI folder; InputError if it is neither, or damaged."""
    if path.is_dir():
        yield _InFolder(path)
        return
    try:
        if path.stat().st_size > bounds.MOST_BYTES:
            raise refusal(str(path), f"has more than {bounds.MOST_BYTES >> 30} GiB", "large")
        with open_tar(path) as archive:
            members: dict[str, tarfile.TarInfo] = {}
            for member in archive:
                members[_plain(member.name)] = member
                if len(members) > bounds.MOST_ENTRIES:
                    raise refusal(str(path), f"has more than {bounds.MOST_ENTRIES:,} entries", "large")
            yield _InArchive(archive, members)
    except FileNotFoundError as error:
        raise InputError(f"there is no image {path}", _FORMS) from error
    except (tarfile.TarError, EOFError) as error:
        raise refusal(str(path), f"cannot be read: {str(error).splitlines()[0]}", "damaged") from error
    except OSError as error:
        if error.filename is not None or error.errno is not None:
            raise InputError(f"the image {path} cannot be read: {error.strerror or error}", _FORMS) from error
        raise refusal(str(path), f"cannot be read: {error}", "damaged") from error


def is_layout(folder: Path) -> bool:
    """Return whether a folder is an OCI folder."""
    return (folder / _LAYOUT).is_file() and (folder / _INDEX).is_file()


def described(container: Container, image: str) -> list[Described]:
    """Return the images that an archive or a folder describes; InputError if it describes none, or is damaged."""
    if container.has(_LAYOUT) and container.has(_INDEX):
        index = read_object(container, Blob(_INDEX, ""), image)
        found = list(_of_index(container, index, image, (), "", _DEPTH))
    elif container.has(_SAVED):
        saved = Blob(_SAVED, "")
        found = [_of_saved(entry, image) for entry in _entries(_json(read_blob(container, saved, image), saved, image))]
    else:
        raise InputError(f"{image} is no image, or only the begin of one: it has no {_INDEX} and no {_SAVED}", _FORMS)
    if not found:
        raise InputError(f"{image} has no image for Linux", _FORMS)
    return found


def read_object(container: Container, blob: Blob, image: str) -> dict[str, Any]:
    """Return a JSON object of an image, after a comparison with its digest; InputError if it is none."""
    return object_in(read_blob(container, blob, image), blob, image)


def object_in(data: bytes, blob: Blob, image: str) -> dict[str, Any]:
    """Return the JSON object in the content of a file of an image; InputError if it is none."""
    found = _json(data, blob, image)
    if not isinstance(found, dict):
        raise refusal(image, f"is damaged: {blob.name} is no JSON object", "damaged")
    return found


def open_blob(container: Container, blob: Blob, image: str) -> IO[bytes]:
    """Open a file of an image; InputError if it is missing."""
    try:
        return container.open(blob.name)
    except KeyError as error:
        raise refusal(image, f"is not complete: {blob.name} is missing", "damaged") from error


def read_blob(container: Container, blob: Blob, image: str) -> bytes:
    """Return the content of a small file of an image, after a comparison with its digest."""
    with open_blob(container, blob, image) as stream:
        data = stream.read(bounds.MOST_JSON_BYTES + 1)
    if len(data) > bounds.MOST_JSON_BYTES:
        raise refusal(image, f"has more than {bounds.MOST_JSON_BYTES >> 20} MiB in {blob.name}", "large")
    computed = f"sha256:{hashlib.sha256(data).hexdigest()}"
    if blob.digest and computed != blob.digest:
        problem = f"is damaged: {blob.name} has the digest {computed[:19]}…, not {blob.digest[:19]}…"
        raise refusal(image, problem, "damaged")
    return data


def _json(data: bytes, blob: Blob, image: str) -> Any:
    try:
        return json.loads(data)
    except (ValueError, RecursionError) as error:
        raise refusal(image, f"is damaged: {blob.name} is no JSON", "damaged") from error


def _of_index(
    container: Container, index: Mapping[str, Any], image: str, names: tuple[str, ...], architecture: str, depth: int
) -> Iterator[Described]:
    for entry in _entries(index.get("manifests")):
        platform = _object(entry.get("platform"))
        notes = _object(entry.get("annotations"))
        if platform.get("os", "linux") != "linux":
            continue  # of another system, or a note about an image that its builder put beside it
        own = tuple(str(notes[key]) for key in _NAME_NOTES if notes.get(key)) or names
        built_for = str(platform.get("architecture") or architecture)
        blob = _blob(entry, image)
        kind = str(entry.get("mediaType", ""))
        if kind in _INDEXES:
            if depth == 0:
                raise refusal(image, "has indexes in indexes without end", "hostile")
            yield from _of_index(container, read_object(container, blob, image), image, own, built_for, depth - 1)
        elif kind in _MANIFESTS or not kind:
            manifest = read_object(container, blob, image)
            layers = tuple(_layer(layer, image) for layer in _entries(manifest.get("layers")))
            yield Described(own, _blob(_object(manifest.get("config")), image), layers, built_for)
        else:
            raise InputError(f"the image {image} has a part of the kind {kind!r}, which is none of an image's", _FORMS)


def _layer(entry: Mapping[str, Any], image: str) -> Blob:
    kind = str(entry.get("mediaType", ""))
    if "encrypted" in kind:
        raise InputError(f"the image {image} has an encrypted layer", "decrypt it with the tool that made it")
    if not _LAYERS.fullmatch(kind):
        raise InputError(
            f"the image {image} has a layer of the kind {kind!r}", "layers are tar archives, plain or with gzip or zstd"
        )
    return _blob(entry, image)


def _of_saved(entry: Mapping[str, Any], image: str) -> Described:
    """Return an image of `manifest.json`; the name of a file is its digest in newer forms alone."""
    config, layers, tags = entry.get("Config"), entry.get("Layers"), entry.get("RepoTags")
    if not isinstance(config, str) or not isinstance(layers, list) or not all(isinstance(each, str) for each in layers):
        raise refusal(image, f"is damaged: {_SAVED} names no configuration or no layers", "damaged")
    digest = Path(config).name.removesuffix(".json")
    stated = f"sha256:{digest}" if _DIGEST.fullmatch(f"sha256:{digest}") else ""
    names = tuple(str(tag) for tag in tags) if isinstance(tags, list) else ()
    return Described(names, Blob(_plain(config), stated), tuple(Blob(_plain(each), "") for each in layers))


def _blob(entry: Mapping[str, Any], image: str) -> Blob:
    digest = entry.get("digest")
    if not isinstance(digest, str) or not _DIGEST.fullmatch(digest):
        raise refusal(image, f"names a part by {str(digest)[:40]!r}, which is no SHA-256 digest", "damaged")
    return Blob(f"blobs/sha256/{digest.removeprefix('sha256:')}", digest)


def _entries(value: Any) -> list[Mapping[str, Any]]:
    return [each for each in value if isinstance(each, dict)] if isinstance(value, list) else []


def _object(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, dict) else {}


def _plain(name: str) -> str:
    return str(Path(name)).removeprefix("./")
