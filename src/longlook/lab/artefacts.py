"""The files of a trial's folder: `run.json` is written last and at once, with the digests of all others."""

import errno
import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from longlook.core import RUN_RECORD, MachineError, Run, codec, files

_FULL_DISK_BYTES = 1 << 16


def write_json(path: Path, value: Any) -> None:
    """Write indented JSON. A crash may leave half of the file: only `run.json`, written last, makes it count."""
    path.write_text(json.dumps(codec.encode(value), indent=1, sort_keys=True) + "\n")


def write_lines(path: Path, lines: list[Mapping[str, Any]]) -> None:
    """Write JSON lines."""
    path.write_text("".join(json.dumps(line, separators=(",", ":")) + "\n" for line in lines))


def digests(folder: Path) -> dict[str, str]:
    """Return the SHA-256 of every file below a folder by relative path, but of the folder's own `run.json`.

    A program may call a file of its own `run.json`, too.
    """
    names = sorted(name for name, what in files.below(folder) if what is None and name != RUN_RECORD)
    return {name: files.digest(folder / name) for name in names}


def seal(folder: Path, run: Run) -> None:
    """Write `run.json` atomically and flush it to the disk: its presence means that the trial is finished."""
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
    """Raise MachineError if the folder's disk is full, or `error` is a write that failed because it is.

    A full disk makes programs fail in ways that are not their fault.
    """
    space = os.statvfs(folder)
    full = space.f_bavail * space.f_frsize < _FULL_DISK_BYTES
    if full or (error is not None and error.errno in (errno.ENOSPC, errno.EDQUOT)):
        raise MachineError(f"the disk of {folder} is full", "make room, then run again with --resume") from error
