"""Images for tests, made by hand: layers as tar archives, in the forms of `docker save` and of OCI."""

import gzip
import hashlib
import io
import json
import tarfile
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pyarrow as pa

from longlook.provision.images.config import machine_architecture

GZIP, ZSTD, PLAIN = "gzip", "zstd", ""
_KIND = "application/vnd.oci.image.layer.v1.tar"


@dataclass(frozen=True)
class Entry:
    """An entry of a layer; `content` is the target of a link."""

    name: str
    content: bytes = b""
    kind: bytes = tarfile.REGTYPE
    mode: int = 0o644
    size: int | None = None  # that its header states

    def info(self) -> tarfile.TarInfo:
        found = tarfile.TarInfo(self.name)
        found.type, found.mode, found.mtime = self.kind, self.mode, 1_600_000_000
        if self.kind in (tarfile.SYMTYPE, tarfile.LNKTYPE):
            found.linkname = self.content.decode()
        elif self.kind == tarfile.REGTYPE:
            found.size = len(self.content) if self.size is None else self.size
        return found


def folder(name: str, mode: int = 0o755) -> Entry:
    return Entry(name, kind=tarfile.DIRTYPE, mode=mode)


def link(name: str, target: str) -> Entry:
    return Entry(name, target.encode(), tarfile.SYMTYPE)


def hard_link(name: str, target: str) -> Entry:
    return Entry(name, target.encode(), tarfile.LNKTYPE)


START = Entry("run_endpoint.sh", b"\x7fELF: a program", mode=0o755)


def layer(*entries: Entry) -> bytes:
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w") as archive:
        for entry in entries:
            info = entry.info()
            archive.addfile(info, io.BytesIO(entry.content) if info.isreg() and entry.size is None else None)
    return out.getvalue()


def digest(data: bytes) -> str:
    return f"sha256:{hashlib.sha256(data).hexdigest()}"


def packed(data: bytes, packing: str) -> bytes:
    if packing == GZIP:
        return gzip.compress(data, 1, mtime=0)
    if packing == ZSTD:
        return bytes(pa.compress(data, codec="zstd", asbytes=True))
    return data


@dataclass(frozen=True)
class Image:
    """An image: its layers, the lowest first, and what its configuration says."""

    layers: tuple[bytes, ...]
    config: Mapping[str, Any] = field(default_factory=lambda: {"Entrypoint": ["/run_endpoint.sh"]})
    architecture: str = field(default_factory=machine_architecture)
    packing: str = PLAIN
    names: tuple[str, ...] = ()

    @property
    def config_data(self) -> bytes:
        rootfs = {"type": "layers", "diff_ids": [digest(each) for each in self.layers]}
        top = {"architecture": self.architecture, "os": "linux", "created": "2026-01-02T03:04:05Z"}
        return json.dumps({**top, "config": self.config, "rootfs": rootfs}).encode()

    @property
    def identity(self) -> str:
        return digest(self.config_data).removeprefix("sha256:")


def of(*entries: Entry, **changes: Any) -> Image:
    return Image((layer(START, *entries),), **changes)


def write_saved(path: Path, *images: Image) -> Path:
    """Write a file of `docker save`."""
    files: dict[str, bytes] = {}
    manifest = []
    for image in images:
        config = f"{image.identity}.json"
        names = [f"{digest(each)[7:19]}/layer.tar" for each in image.layers]
        files |= {config: image.config_data, **dict(zip(names, image.layers, strict=True))}
        manifest.append({"Config": config, "RepoTags": list(image.names) or None, "Layers": names})
    return write_archive(path, {**files, "manifest.json": json.dumps(manifest).encode()})


def oci_files(*images: Image, kind: str = "") -> dict[str, bytes]:
    """Return the files of an OCI folder."""
    files = {"oci-layout": b'{"imageLayoutVersion": "1.0.0"}'}
    entries = []

    def keep(data: bytes, media_type: str) -> dict[str, Any]:
        files[f"blobs/sha256/{digest(data)[7:]}"] = data
        return {"mediaType": media_type, "digest": digest(data), "size": len(data)}

    for image in images:
        suffix = f"+{image.packing}" if image.packing else ""
        blobs = [keep(packed(each, image.packing), kind or _KIND + suffix) for each in image.layers]
        config = keep(image.config_data, "application/vnd.oci.image.config.v1+json")
        manifest = json.dumps({"schemaVersion": 2, "config": config, "layers": blobs}).encode()
        notes = {"io.containerd.image.name": image.names[0]} if image.names else {}
        platform = {"architecture": image.architecture, "os": "linux"}
        entry = keep(manifest, "application/vnd.oci.image.manifest.v1+json")
        entries.append({**entry, "annotations": notes, "platform": platform})
    files["index.json"] = json.dumps({"schemaVersion": 2, "manifests": entries}).encode()
    return files


def write_oci(path: Path, *images: Image, kind: str = "") -> Path:
    """Write an OCI archive."""
    return write_archive(path, oci_files(*images, kind=kind))


def write_folder(path: Path, files: Mapping[str, bytes]) -> Path:
    for name, data in files.items():
        (path / name).parent.mkdir(parents=True, exist_ok=True)
        (path / name).write_bytes(data)
    return path


def write_archive(path: Path, files: Mapping[str, bytes]) -> Path:
    path.write_bytes(layer(*(Entry(name, data) for name, data in files.items())))
    return path


def tree(root: Path) -> dict[str, bytes]:
    """Return the files and links below a root: relative path → content, or `-> target`."""
    return {
        path.relative_to(root).as_posix(): f"-> {path.readlink()}".encode() if path.is_symlink() else path.read_bytes()
        for path in root.rglob("*")
        if path.is_symlink() or path.is_file()
    }


def below(entries: Iterable[str]) -> set[str]:
    return {entry for entry in entries if entry != START.name}
