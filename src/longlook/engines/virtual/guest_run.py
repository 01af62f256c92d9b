"""Runs a guest: writes its request, boots it once on a CPU of its own, and raises the errors that it reported."""

import json
import os
import sys
import threading
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import longlook
from longlook.core import codec, paths
from longlook.core.errors import InputError, MachineError
from longlook.core.job import Job
from longlook.engines.virtual import bundle_loader
from longlook.engines.virtual.boot import Ended, Guest, boot
from longlook.engines.virtual.cpus import one_cpu
from longlook.lab.artefacts import raise_if_full
from longlook.lab.guest import ERROR, REQUEST, GuestRequest
from longlook.lab.linux.view import hidden_folders

_PYTHON = {"PYTHONHASHSEED": "0", "PYTHONDONTWRITEBYTECODE": "1"}
_FORGOTTEN_IN_GUEST = ("LONGLOOK_DATAPATH",)
_TO_GUEST = ("LD_LIBRARY_PATH", "PATH")
_FOLDERS = ("LD_LIBRARY_PATH", "LONGLOOK_ADAPTERS", "LONGLOOK_LINK", "LONGLOOK_PLUGINS", "PATH", "PYTHONPATH")
"""Variables that list folders, or name a file. A relative one is meant from here, and a guest is elsewhere."""


def run_guest(
    guest: Guest,
    module: str,
    jobs: Sequence[Job],
    bundle: str,
    exchange: Path,
    seed: int,
    wall_limit_s: float,
    stop: threading.Event | None = None,
) -> Ended:
    """Boot a guest with `main` of a module of the bundle as its first process; what it made is in `exchange`.

    InputError or MachineError in the guest's own words; a guest that died says so in what is returned.
    """
    environment = _environment()
    shown = hidden_folders(_needed(jobs, environment))
    request = GuestRequest(tuple(jobs), environment, exact=guest.exact, shown=shown)
    (exchange / REQUEST).write_text(json.dumps(codec.encode(request)))
    with one_cpu() as cpu:
        init = (sys.executable, "-S", bundle_loader.__file__, bundle, module)
        ended = boot(guest, init, _PYTHON, exchange, seed, cpu, wall_limit_s, stop)
    if not (exchange / ERROR).exists():
        return ended
    text = (exchange / ERROR).read_text()
    if not text:
        raise_if_full(exchange)
        return ended
    said: Mapping[str, str | None] = json.loads(text)
    message = said["message"] or "the guest gave no reason"
    if said["kind"] == "bug":
        return replace(ended, reason=f"the guest's agent failed: {message}")
    kind = InputError if said["kind"] == "input" else MachineError
    raise kind(message, said["hint"])


def _environment() -> dict[str, str]:
    ours = {name: value for name, value in os.environ.items() if name.startswith("LONGLOOK_")}
    needed = {name: os.environ[name] for name in _TO_GUEST if name in os.environ}
    kept = {name: value for name, value in ours.items() if name not in _FORGOTTEN_IN_GUEST}
    here = {name: _from_anywhere(value) if name in _FOLDERS else value for name, value in (needed | kept).items()}
    return {"TZ": "UTC", "LANG": "C.UTF-8", **here, "LONGLOOK_CACHE": str(paths.cache_dir()), **_PYTHON}


def _from_anywhere(folders: str) -> str:
    return ":".join(str(Path(folder).absolute()) for folder in folders.split(":") if folder)


def _needed(jobs: Sequence[Job], environment: Mapping[str, str]) -> Iterator[str]:
    """Every path that a guest may have to find: Python and Longlook, programs, files to serve, certificates."""
    yield from (sys.executable, sys.prefix, sys.base_prefix, str(Path(longlook.__file__).parents[1]))
    # The folder that Python was started from is no matter of the guest's: what it sees must not depend on that.
    started = {str(Path.cwd()), str(Path(sys.argv[0]).parent)}
    yield from (entry for entry in sys.path if entry and entry not in started)
    yield from (str(paths.cache_dir()), str(paths.adapters_dir()))
    for name in _FOLDERS:
        yield from filter(None, environment.get(name, "").split(":"))
    for job in jobs:
        yield from (program.path for program in job.programs.values())
        yield from (job.content.root, job.identity.ca, job.identity.certificate, job.identity.key)
        yield from job.traces.values()
