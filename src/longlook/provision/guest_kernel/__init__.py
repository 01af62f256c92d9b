"""The guest kernel of the engine `virtual`: taken from LONGLOOK_KERNEL, the cache, or the package longlook-prebuilt.

If none of them has it, it is built.

The cache has one entry for each patch, configuration and pinned source: a kernel that was built from them is used for
as long as it is intact, whatever newer compilers there are. Its record names what else it was made of. If the pinned
source was not to be had, the kernel of another source stands in, and `deviation` says so.

Entry points: `kernel_program`, `installed`, `readiness`, `deviation`, `made_of`; `build` and `source` are its steps.
"""

import contextlib
import fcntl
import json
import os
import shutil
from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from longlook.core import (
    InputError,
    LonglookError,
    MachineError,
    Program,
    cache_dir,
    content_hash,
    file_digest,
    kernel_dir,
)
from longlook.provision import pins
from longlook.provision.build_cache import filled
from longlook.provision.guest_kernel.build import STEPS, build_kernel, expect_buildable, expect_sources
from longlook.provision.guest_kernel.source import pinned_source
from longlook.provision.prebuilt import Prebuilt, prebuilt_kernel

_KERNEL = "linux"
_RECORD = "kernel.json"


@dataclass(frozen=True)
class Readiness:
    """Whether a guest kernel is there, and what to do otherwise (`hint`, None if nothing can be done)."""

    ready: bool
    detail: str
    hint: str | None


def kernel_program(say: Callable[[str], None]) -> Program:
    """Return the guest kernel; build it first if the cache does not hold it intact. `say` gets lines of progress.

    Raise InputError for a bad LONGLOOK_KERNEL, MachineError if the kernel cannot be built here.
    """
    if (named := _named_kernel()) is not None:
        return named
    entry = _found() or _make(say)
    return Program(str(entry / _KERNEL), _record(entry)["sha256"])


def installed() -> bool:
    """Return whether `kernel_program` has nothing to build."""
    try:
        return _named_kernel() is not None or _found() is not None or _prebuilt(_wanted()) is not None
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
        entry = _found()
        if entry is not None:
            record = _record(entry)
            detail = f"Linux {record['release']}, sha256 {record['sha256'][:12]}"
            other = deviation()
            return Readiness(ready=True, detail=f"{detail}; {other}" if other else detail, hint=None)
        if (prebuilt := _prebuilt(_wanted())) is not None:
            return Readiness(ready=True, detail=f"Linux {prebuilt.record['release']}, of longlook-prebuilt", hint=None)
        expect_buildable()
        expect_sources()
    except LonglookError as error:
        return Readiness(ready=False, detail=f"not built, and it cannot be: {error.message}", hint=error.hint)
    return Readiness(ready=False, detail="not built yet; it can be built here", hint="longlook setup kernel")


def deviation() -> str | None:
    """Return what is not as pinned about the kernel that `kernel_program` returns, as a sentence; None if everything
    is.

    Results from such a kernel are another kernel's.
    """
    record = made_of()
    if record is None:
        named = os.environ.get("LONGLOOK_KERNEL")
        return f"the guest kernel is that of LONGLOOK_KERNEL, {named}: nobody vouches for it" if named else None
    other = pins.deviation(record["source"])
    return other and f"the guest kernel is made of {other}: results are another kernel's"


def made_of() -> dict[str, Any] | None:
    """Return the record of the kernel in the cache; None if LONGLOOK_KERNEL names another, or none is built."""
    if os.environ.get("LONGLOOK_KERNEL"):
        return None
    entry = _found()
    return _record(entry) if entry is not None else None


def _named_kernel() -> Program | None:
    """Return the kernel of LONGLOOK_KERNEL, None if that is not set."""
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


def _make(say: Callable[[str], None]) -> Path:
    """Build the kernel, and return its entry of the cache."""
    wanted = _wanted()
    entry = _cache() / content_hash(asdict(wanted))
    work = entry.parent / "work"

    with _only_one(entry.parent / ".work.lock", say) as lock:

        def fill(into: Path) -> None:
            if (prebuilt := _prebuilt(wanted)) is not None:
                shutil.copyfile(prebuilt.file, into / _KERNEL)
                (into / _KERNEL).chmod(0o755)
                record = prebuilt.record
            else:
                say("building the guest kernel, once …")
                record = build_kernel(kernel_dir(), work, into / _KERNEL, say, lock)
            (into / _RECORD).write_text(json.dumps(record, indent=1) + "\n")

        filled(entry, wanted.is_made_by, fill)
        shutil.rmtree(work, ignore_errors=True)
    return entry


@contextlib.contextmanager
def _only_one(path: Path, say: Callable[[str], None]) -> Iterator[int]:
    """Yield a lock that the compiling children hold too: while children of a killed build run, no other one begins."""
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


@dataclass(frozen=True)
class _Wanted:
    """The ingredients that a kernel shall be made of; `source` is the SHA-256 of the pinned package."""

    patch: str
    config: str
    source: str
    steps: int = STEPS

    def is_made_by(self, entry: Path) -> bool:
        """Return whether an entry of the cache holds such a kernel, intact, or a kernel that stands in for it."""
        try:
            record = _record(entry)
            return self.is_recorded(record) and record["sha256"] == file_digest(entry / _KERNEL)
        except (OSError, ValueError, KeyError, TypeError, AttributeError):
            return False

    def is_recorded(self, record: Mapping[str, Any]) -> bool:
        """Return whether a record is of such a kernel, or of one that stands in for it."""
        source = record["source"]
        made = _Wanted(record["patch"], record["config"], source["sha256"], record["steps"])
        return replace(made, source=source.get("instead_of", source)["sha256"]) == self


def _wanted() -> _Wanted:
    folder = kernel_dir()
    try:
        patch, config = (file_digest(folder / name) for name in ("time-travel.patch", "config"))
    except OSError as error:
        raise MachineError(
            f"the guest kernel's patch and configuration are missing: {error}",
            "set LONGLOOK_KERNEL_RECIPE to the kernel/ of a checkout",
        ) from error
    return _Wanted(patch, config, pinned_source(folder).sha256)


def _found() -> Path | None:
    """Return the entry of the cache with the wanted kernel, intact; None if no entry has it.

    Its record decides, not its name.
    """
    wanted = _wanted()
    entries = sorted(record.parent for record in _cache().glob(f"[!.]*/{_RECORD}"))
    return next((entry for entry in entries if wanted.is_made_by(entry)), None)


def _prebuilt(wanted: _Wanted) -> Prebuilt | None:
    """Return the wanted kernel of the package longlook-prebuilt; None if that has another or is not installed."""
    return prebuilt_kernel(wanted.is_recorded)


def _cache() -> Path:
    return cache_dir() / "kernel"


def _record(entry: Path) -> dict[str, Any]:
    record: dict[str, Any] = json.loads((entry / _RECORD).read_text())
    return record
