"""An unpacked image in the cache: its record, its root, and the space that all of them take. Standard library only."""

import json
import os
import shutil
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from longlook.core import cache_dir, codec, write_json
from longlook.provision.images import bounds

RECORD, ROOT = "image.json", "root"
_IN_USE_S = 3600.0
"""An image that was named so short a time ago is not removed: a run may have it."""


@dataclass(frozen=True)
class ImageRecord:
    """The facts of an unpacked image. `digest` is of its configuration, which has the digests of its layers.

    `writable` are the folders of its root in which its program may make files, `devices` how many entries below /dev
    were left out.
    """

    digest: str
    argv: tuple[str, ...]
    env: Mapping[str, str]
    folder: str
    writable: tuple[str, ...]
    byte_count: int
    entries: int
    devices: int = 0
    names: tuple[str, ...] = ()
    created: str = ""
    layers: tuple[str, ...] = field(default=())


def image_folder(digest: str) -> Path:
    """Return the folder of the cache that an image is unpacked to."""
    return cache_dir() / "images" / digest


def read_record(file: Path) -> ImageRecord:
    """Return the record in a file; OSError or ValueError if there is none."""
    return codec.decode(ImageRecord, json.loads(file.read_text()))


def write_record(folder: Path, record: ImageRecord) -> None:
    """Write the record of an image beside its root."""
    write_json(folder / RECORD, codec.encode(record))


def is_unpacked(folder: Path) -> bool:
    """Return whether a folder has an unpacked image, and note that it is used."""
    try:
        known = read_record(folder / RECORD)
        os.utime(folder / RECORD)
    except (OSError, ValueError, TypeError, KeyError):
        return False
    return known.digest == folder.name and (folder / ROOT).is_dir()


def prune(kept: Path, most_bytes: int = bounds.CACHE_BYTES) -> list[str]:
    """Remove the images that were used longest ago until all take no more than `most_bytes`; return their digests.

    `kept` stays, and so do images that were used in the last hour.
    """
    found = []
    for folder in kept.parent.glob("[0-9a-f]*"):
        try:
            found.append(((folder / RECORD).stat().st_mtime, folder, read_record(folder / RECORD).byte_count))
        except (OSError, ValueError, TypeError, KeyError):
            continue
    total, removed = sum(size for _, _, size in found), []
    for used_s, folder, size in sorted(found):
        if total <= most_bytes:
            break
        if folder != kept and time.time() - used_s > _IN_USE_S:
            (folder / RECORD).unlink(missing_ok=True)  # first: without it nobody takes the rest for an image
            shutil.rmtree(folder, ignore_errors=True)
            removed.append(folder.name)
            total -= size
    return removed
