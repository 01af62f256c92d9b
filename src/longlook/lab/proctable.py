"""All processes of this PID namespace from /proc, which works on kernels without /proc/PID/task/TID/children too."""

import os
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

_PARENT, _REAPED_USER, _REAPED_SYSTEM = 1, 13, 14  # fields of /proc/PID/stat behind the name


@dataclass(frozen=True)
class Entry:
    """A process: its parent, and the CPU seconds of the descendants that it has reaped."""

    parent: int
    reaped_s: float


def process_table() -> dict[int, Entry]:
    """Every process by its id, as of now."""
    ticks_per_s = os.sysconf("SC_CLK_TCK")
    table = {}
    for name in os.listdir("/proc"):  # noqa: PTH208 (this runs right before a measurement)
        if name.isdigit():
            with suppress(OSError):  # it ended meanwhile
                fields = Path(f"/proc/{name}/stat").read_text().rpartition(")")[2].split()
                reaped = int(fields[_REAPED_USER]) + int(fields[_REAPED_SYSTEM])
                table[int(name)] = Entry(int(fields[_PARENT]), reaped / ticks_per_s)
    return table


def children_of(pid: int) -> list[int]:
    """Direct children of a process."""
    return [child for child, entry in process_table().items() if entry.parent == pid]
