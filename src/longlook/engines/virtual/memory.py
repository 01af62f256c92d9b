"""Room for the file that is a guest's memory. The file has no name, so it never outlives the guest.

A box with mounts of its own has a file system for it. Elsewhere a folder of the host must have the room.
"""

import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from longlook.core import MachineError, paths
from longlook.engines.virtual.scratch import temporary_folder

_ROOM_BYTES = 1 << 30
"""A guest uses 0.1 to 0.6 GiB of the 2 GiB that it could; without room it would die in the middle of a trial."""

_LEAST_AVAILABLE_BYTES = 256 << 20
_FULL_BYTES = 1 << 24
_SHARED = "/dev/shm"  # noqa: S108
_PREFIX = "longlook-memory-"


@contextmanager
def memory_folder() -> Iterator[str]:
    """Yield an empty folder with room for a guest's memory: in the host's memory, else on a disk, which is slower.

    Raise MachineError if none has room.
    """
    places = [_SHARED, tempfile.gettempdir(), str(paths.cache_dir())]
    for place in places:
        if _is_usable(place) and shutil.disk_usage(place).free >= _ROOM_BYTES:
            with temporary_folder(_PREFIX, Path(place)) as folder:
                yield str(folder)
            return
    raise MachineError(
        f"no room for a guest's memory: none of {', '.join(places)} has 1 GiB free and lets programs be executed",
        "mount -o remount,size=4G /dev/shm (docker run --shm-size=4g), or set TMPDIR",
    )


def raise_if_short_of_memory() -> None:
    """Raise MachineError if this machine has no memory left for another guest."""
    lines = (line.split() for line in Path("/proc/meminfo").read_text().splitlines())
    kibibytes = {name: int(amount) for name, amount, *_ in lines}
    available = (kibibytes.get("MemAvailable:", kibibytes["MemFree:"]) + kibibytes.get("SwapFree:", 0)) << 10
    if available < _LEAST_AVAILABLE_BYTES:
        raise MachineError(
            f"no room for a guest's memory: {available >> 20} MiB are available on this machine",
            "end other programs, or run fewer guests at once: --jobs 1",
        )


def is_full(place: str) -> bool:
    """Return whether a guest whose memory lies in `place` may have died because there was no room."""
    return shutil.disk_usage(place).free < _FULL_BYTES


def _is_usable(place: str) -> bool:
    """Return whether a folder can be written and executed from: a guest's programs are executed from its memory."""
    return os.access(place, os.W_OK | os.X_OK) and not os.statvfs(place).f_flag & os.ST_NOEXEC
