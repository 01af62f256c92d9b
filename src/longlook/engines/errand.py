"""A guest's errand: its order into the box, one boot on a CPU of its own, and what it had to complain of raised."""

import json
import os
import sys
import threading
from collections.abc import Mapping, Sequence
from pathlib import Path

from longlook import codec, paths
from longlook.engines.boot import Ended, Guest, boot
from longlook.engines.cpus import one_cpu
from longlook.errors import InputError, MachineError
from longlook.guest import ERROR, ORDER, Order
from longlook.job import Job

_FORGOTTEN_IN_GUEST = ("LONGLOOK_DATAPATH",)
_TO_GUEST = ("LD_LIBRARY_PATH", "PATH")


def run_errand(
    guest: Guest,
    module: str,
    jobs: Sequence[Job],
    pycache: str,
    box: Path,
    seed: int,
    wall_limit_s: float,
    stop: threading.Event | None = None,
) -> Ended:
    """Boot a guest with `python -m module` as its first process; what it made is in `box`.

    InputError or MachineError in the guest's own words; a guest that died says so in what is returned.
    """
    python = _python(pycache)
    order = Order(tuple(jobs), _environment(python), exact=guest.time == "inf-cpu")
    (box / ORDER).write_text(json.dumps(codec.encode(order)))
    with one_cpu() as cpu:
        ended = boot(guest, (sys.executable, "-m", module), python, box, seed, cpu, wall_limit_s, stop)
    if (box / ERROR).exists():
        said: Mapping[str, str | None] = json.loads((box / ERROR).read_text())
        kind = InputError if said["kind"] == "input" else MachineError
        raise kind(said["message"] or "the guest gave no reason", said["hint"])
    return ended


def _environment(python: Mapping[str, str]) -> dict[str, str]:
    ours = {name: value for name, value in os.environ.items() if name.startswith("LONGLOOK_")}
    needed = {name: os.environ[name] for name in _TO_GUEST if name in os.environ}
    kept = {name: value for name, value in ours.items() if name not in _FORGOTTEN_IN_GUEST}
    return {"TZ": "UTC", "LANG": "C.UTF-8", **needed, **kept, "LONGLOOK_CACHE": str(paths.cache_dir()), **python}


def _python(pycache: str) -> dict[str, str]:
    own = {"PYTHONHASHSEED": "0", "PYTHONPYCACHEPREFIX": pycache, "PYTHONDONTWRITEBYTECODE": "1"}
    return {**own, **({"PYTHONPATH": os.environ["PYTHONPATH"]} if "PYTHONPATH" in os.environ else {})}
