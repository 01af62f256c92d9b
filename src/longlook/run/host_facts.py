"""Facts about the machine and its libraries, for a manifest."""

import os
import platform
from importlib.metadata import version
from pathlib import Path
from typing import Any

from longlook.lab import datapath, has_realtime_priority

LIBRARIES = ("numpy", "pandas", "scipy", "statsmodels", "altair", "pyroute2", "websockets")


def facts_of_host() -> dict[str, Any]:
    """Return kernel, processor, memory and library versions; nothing that names the machine or its user.

    Raise MachineError if LONGLOOK_DATAPATH is none that there is.
    """
    return {
        "kernel": f"{platform.system()} {platform.release()}",
        "machine": platform.machine(),
        "cpu": _first(Path("/proc/cpuinfo"), "model name"),
        "cpus": os.cpu_count(),
        "memory_kib": int((_first(Path("/proc/meminfo"), "MemTotal") or "0").split()[0]),
        # The link emulator's, in live trials: without it packets are late whenever the machine is busy.
        "realtime_priority": "yes" if has_realtime_priority() else "no: live links are less accurate when it is busy",
        "live_datapath": datapath(),
        "python": platform.python_version(),
        "longlook": version("longlook"),
        "libraries": {name: version(name) for name in LIBRARIES},
    }


def _first(path: Path, key: str) -> str | None:
    for line in path.read_text().splitlines():
        name, _, value = line.partition(":")
        if name.strip() == key:
            return value.strip()
    return None
