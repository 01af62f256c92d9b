"""Runs a guest, the one place that shows all its steps.

1. The exchange directory, an empty folder of the host, gets `request.json`: the jobs, their environment, and the
   folders of the host that the guest's own file systems would hide (`lab.linux.view`).
2. `boot.boot` starts the kernel in a box, on a CPU of its own, with the exchange directory as its working directory and
   `bundle_loader` as its first process, which runs `main` of a module (`lab.guest`) from a bundle.
3. In the guest, `lab.guest` reads the request, runs the jobs in a laboratory, copies each finished folder into the
   exchange directory, writes `error.json` if something went wrong, and switches the guest off.
4. Errors that the guest reported are raised here; the caller moves the finished folders to the run folder.
"""

import json
import os
import sys
import threading
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from longlook.core import (
    TRUST,
    InputError,
    Job,
    LonglookError,
    MachineError,
    codec,
    endpoints_of,
    files,
    paths,
    registry,
)
from longlook.engines.virtual import bundle_loader
from longlook.engines.virtual.boot import Boot, BootResult, Guest, boot
from longlook.engines.virtual.box import shown_in_box
from longlook.engines.virtual.cpus import one_cpu
from longlook.lab import (
    ERROR,
    REQUEST,
    GuestError,
    GuestRequest,
    closed_folders,
    hidden_folders,
    job_paths,
    python_paths,
    raise_if_full,
)

_LARGEST_ERROR_BYTES = 1 << 20
_PYTHON = {"PYTHONHASHSEED": "0", "PYTHONDONTWRITEBYTECODE": "1"}
_NOT_FOR_GUESTS = ("LONGLOOK_BOX", "LONGLOOK_DATAPATH", TRUST)
_FOR_GUESTS = ("LD_LIBRARY_PATH", "PATH")
_FOLDERS = ("LD_LIBRARY_PATH", "LONGLOOK_ADAPTERS", "LONGLOOK_LINK", "LONGLOOK_PLUGINS", "PATH", "PYTHONPATH")
"""Variables that list folders, or name a file. Relative ones are made absolute: a guest has another directory."""


@dataclass(frozen=True)
class GuestRun:
    """The work of a guest: it runs `main` of a module of a bundle as its first process, with jobs and a seed."""

    module: str
    bundle: str  # the file that `bundle.make_bundle` returns
    jobs: tuple[Job, ...]
    seed: int
    wall_limit_s: float  # real time, for each job


def run_guest(guest: Guest, run: GuestRun, exchange: Path, stop: threading.Event | None = None) -> BootResult:
    """Run a guest to its end and return how its boot ended; the files that it made are in `exchange`.

    `stop` ends it early, with InterruptedByUserError. Raise the InputError or MachineError that the guest reported. A
    guest that died, or whose agent failed, is not an error: the result has the reason.
    """
    environment = _environment()
    needed = sorted(set(_needed(run.jobs, environment)))
    host_folders = hidden_folders(needed)
    closed = {} if "mounts" in guest.box.there else closed_folders(needed)  # a box's folders are open
    jobs = tuple(replace(job, folder="") for job in run.jobs)  # a guest has folders of its own
    request = GuestRequest(
        jobs, environment, exact=guest.exact, host_folders=host_folders, closed=closed, plugins=_stacks(jobs)
    )
    (exchange / REQUEST).write_text(json.dumps(codec.encode(request)))
    with one_cpu() as cpu:
        init = (sys.executable, "-S", bundle_loader.__file__, run.bundle, run.module)
        shown = shown_in_box((*needed, guest.kernel, run.bundle))
        options = Boot(init, _PYTHON, run.seed, cpu, run.wall_limit_s, shown, max(1, len(jobs)))
        result = boot(guest, options, exchange, stop)
    if result.broke or not (exchange / ERROR).exists():
        return result
    try:
        data = files.read_bytes(exchange / ERROR, _LARGEST_ERROR_BYTES)
        reported = codec.decode(GuestError, json.loads(data)) if data else None
    except (LonglookError, ValueError, RecursionError, OSError):  # a program that left its guest may have written it
        return replace(result, reason="the guest's agent left an error that cannot be read")
    if reported is None:
        raise_if_full(exchange)
        return result
    if reported.kind == "bug":
        return replace(result, reason=f"the guest's agent failed: {reported.message}")
    raise (InputError if reported.kind == "input" else MachineError)(reported.message, reported.hint)


def _stacks(jobs: Sequence[Job]) -> tuple[registry.ModulePlace, ...]:
    names = sorted({end.stack for job in jobs for end in endpoints_of(job.trial)})
    return tuple(registry.place("stacks", name) for name in names)


def _environment() -> dict[str, str]:
    ours = {name: value for name, value in os.environ.items() if name.startswith("LONGLOOK_")}
    needed = {name: os.environ[name] for name in _FOR_GUESTS if name in os.environ}
    kept = {name: value for name, value in ours.items() if name not in _NOT_FOR_GUESTS}
    here = {name: _from_anywhere(value) if name in _FOLDERS else value for name, value in (needed | kept).items()}
    return {"TZ": "UTC", "LANG": "C.UTF-8", **here, "LONGLOOK_CACHE": str(paths.cache_dir()), **_PYTHON}


def _from_anywhere(folders: str) -> str:
    return ":".join(str(Path(folder).absolute()) for folder in folders.split(":") if folder)


def _needed(jobs: Sequence[Job], environment: Mapping[str, str]) -> Iterator[str]:
    """Yield every path that a guest may need: Python and Longlook, programs, files to serve, certificates."""
    yield from python_paths()
    for name in _FOLDERS:
        yield from filter(None, environment.get(name, "").split(":"))
    for job in jobs:
        yield from job_paths(job)
        yield from job.traces.values()
