"""The guest kernel of the engine `virtual`: taken from LONGLOOK_KERNEL or the cache, built where neither has one.

The cache has one entry for each patch and configuration: a kernel that was built from them is used for as long as it
is intact, whatever newer sources or compilers there are. Its record and the key in it name what else it was made of.

Entry points: `kernel_program`, `installed`, `readiness`; `build` and `source` are its steps.
"""

import contextlib
import fcntl
import json
import os
import shutil
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from longlook.core.codec import content_hash
from longlook.core.digests import file_digest
from longlook.core.errors import InputError, LonglookError, MachineError
from longlook.core.job import Program
from longlook.core.paths import cache_dir, kernel_dir
from longlook.provision.cache_folder import filled
from longlook.provision.guest_kernel.build import STEPS, build_kernel, expect_buildable, expect_sources

_KERNEL = "linux"
_RECORD = "kernel.json"


@dataclass(frozen=True)
class Readiness:
    """Whether there is a guest kernel, and what to do where there is none (`hint`, None where nothing can be done)."""

    ready: bool
    detail: str
    hint: str | None


def kernel_program(say: Callable[[str], None]) -> Program:
    """Return the guest kernel; build it first where the cache does not hold it intact. `say` gets lines of progress.

    Raise InputError for a bad LONGLOOK_KERNEL, MachineError where the kernel cannot be built here.
    """
    if (named := _named_kernel()) is not None:
        return named
    entry = _entry()
    if not _is_intact(entry):
        _make(entry, say)
    return Program(str(entry / _KERNEL), _record(entry)["sha256"])


def installed() -> bool:
    """Return whether `kernel_program` has nothing to build."""
    try:
        return _named_kernel() is not None or _is_intact(_entry())
    except LonglookError:
        return False


def readiness() -> Readiness:
    """Return whether a guest kernel is there or can be built, without using the network."""
    try:
        if (named := _named_kernel()) is not None:
            return Readiness(ready=True, detail=f"{named.path} (LONGLOOK_KERNEL)", hint=None)
    except InputError as error:
        return Readiness(ready=False, detail=error.message, hint=error.hint)
    try:
        entry = _entry()
        if _is_intact(entry):
            record = _record(entry)
            return Readiness(ready=True, detail=f"Linux {record['release']}, sha256 {record['sha256'][:12]}", hint=None)
        expect_buildable()
        expect_sources()
    except LonglookError as error:
        return Readiness(ready=False, detail=f"not built, and it cannot be: {error.message}", hint=error.hint)
    return Readiness(ready=False, detail="not built yet; it can be built here", hint="longlook setup kernel")


def _named_kernel() -> Program | None:
    """Return the kernel of LONGLOOK_KERNEL, None where that is not set."""
    name = os.environ.get("LONGLOOK_KERNEL")
    if not name:
        return None
    path = Path(name).absolute()
    if not path.is_file():
        raise InputError(f"LONGLOOK_KERNEL names no file: {path}", "name a User-Mode Linux kernel, or unset it")
    if not os.access(path, os.X_OK):
        raise InputError(f"LONGLOOK_KERNEL names a file that cannot be executed: {path}", f"chmod +x {path}")
    try:
        return Program(str(path), file_digest(path))
    except OSError as error:  # its digest is part of what a trial is, so it must be readable too
        raise InputError(f"LONGLOOK_KERNEL cannot be read: {error}", f"chmod +r {path}") from error


def _make(entry: Path, say: Callable[[str], None]) -> None:
    work = entry.parent / "work"

    with _only_one(entry.parent / ".work.lock", say) as lock:

        def fill(into: Path) -> None:
            say("building the guest kernel, once …")
            record = build_kernel(kernel_dir(), work, into / _KERNEL, say, lock)
            (into / _RECORD).write_text(json.dumps(record, indent=1) + "\n")

        filled(entry, _is_intact, fill)
        shutil.rmtree(work, ignore_errors=True)


@contextlib.contextmanager
def _only_one(path: Path, say: Callable[[str], None]) -> Iterator[int]:
    """Yield a lock that the compiling children hold too: while those of a killed build run, no other begins."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        lock = path.open("w")
    except OSError as error:
        raise MachineError(
            f"the cache cannot be written: {error}", "make it writable, or move it: LONGLOOK_CACHE"
        ) from error
    with lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            say("another process is building a guest kernel; waiting for it …")
            fcntl.flock(lock, fcntl.LOCK_EX)
        yield lock.fileno()


def _entry() -> Path:
    folder = kernel_dir()
    try:
        made_of = {name: file_digest(folder / name) for name in ("time-travel.patch", "config")}
    except OSError as error:
        raise MachineError(
            f"the guest kernel's patch and configuration are missing: {error}",
            "set LONGLOOK_KERNEL_RECIPE to the kernel/ of a checkout",
        ) from error
    return cache_dir() / "kernel" / content_hash({**made_of, "steps": STEPS})


def _is_intact(entry: Path) -> bool:
    try:
        return bool(_record(entry)["sha256"] == file_digest(entry / _KERNEL))
    except (OSError, ValueError, KeyError, TypeError):
        return False


def _record(entry: Path) -> dict[str, Any]:
    record: dict[str, Any] = json.loads((entry / _RECORD).read_text())
    return record
