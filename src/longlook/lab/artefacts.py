"""Files of a trial's folder: written so that a crash never leaves half of one, and named by their digests."""

import errno
import hashlib
import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from longlook.core import codec
from longlook.core.errors import MachineError
from longlook.core.model import Run

_FULL_DISK_BYTES = 1 << 16


def write_json(path: Path, value: Any) -> None:
    """Indented JSON; for files that `run.json` vouches for later."""
    path.write_text(json.dumps(codec.encode(value), indent=1, sort_keys=True) + "\n")


def write_lines(path: Path, lines: list[Mapping[str, Any]]) -> None:
    """JSON lines."""
    path.write_text("".join(json.dumps(line, separators=(",", ":")) + "\n" for line in lines))


def digests(folder: Path) -> dict[str, str]:
    """SHA-256 of every file below a folder, by relative path; `run.json` is not one of them."""
    found = {}
    for path in sorted(folder.rglob("*")):
        if path.is_file() and path.name != "run.json":
            with path.open("rb") as file:
                found[str(path.relative_to(folder))] = hashlib.file_digest(file, "sha256").hexdigest()
    return found


def seal(folder: Path, run: Run) -> None:
    """Write `run.json` last, whole and on disk: its presence means that the trial is finished."""
    partial = folder / "run.json.partial"
    with partial.open("w") as file:
        json.dump(codec.encode(run), file, indent=1, sort_keys=True)
        file.write("\n")
        file.flush()
        os.fsync(file.fileno())
    partial.rename(folder / "run.json")
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def raise_if_full(folder: Path, error: OSError | None = None) -> None:
    """MachineError where a disk has no room, or a write has just failed for want of it.

    A disk without room makes programs fail in ways that say nothing about them.
    """
    space = os.statvfs(folder)
    full = space.f_bavail * space.f_frsize < _FULL_DISK_BYTES
    if full or (error is not None and error.errno in (errno.ENOSPC, errno.EDQUOT)):
        raise MachineError(f"the disk of {folder} is full", "make room, then run again with --resume") from error
