"""The processes of this PID namespace, read from /proc: also on kernels without /proc/PID/task/TID/children."""

import os
import time
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

_STATE, _PARENT, _GROUP, _REAPED_USER, _REAPED_SYSTEM = 0, 1, 2, 13, 14  # fields of /proc/PID/stat behind the name
_DEAD = ("Z", "X")
_CPUCLOCK_OF_PROCESS = 2


@dataclass(frozen=True)
class ProcessEntry:
    """A process: its parent, its process group, and the CPU seconds of the descendants that it has reaped.

    A process that `has_ended` waits for its parent to reap it.
    """

    parent: int
    group: int
    reaped_s: float
    has_ended: bool


def process_table() -> dict[int, ProcessEntry]:
    """Return every process of now by its pid."""
    ticks_per_s = os.sysconf("SC_CLK_TCK")
    table = {}
    for name in os.listdir("/proc"):  # noqa: PTH208 (this runs right before a measurement)
        if name.isdigit():
            with suppress(OSError):  # it ended meanwhile
                fields = Path(f"/proc/{name}/stat").read_text().rpartition(")")[2].split()
                reaped = int(fields[_REAPED_USER]) + int(fields[_REAPED_SYSTEM])
                table[int(name)] = ProcessEntry(
                    int(fields[_PARENT]), int(fields[_GROUP]), reaped / ticks_per_s, fields[_STATE] in _DEAD
                )
    return table


def children_of(pid: int) -> list[int]:
    """Return the pids of the direct children of a process."""
    return [child for child, entry in process_table().items() if entry.parent == pid]


def cpu_of_tree(pid: int) -> float:
    """Return the user and system CPU seconds of a running process, its descendants, and all that these have reaped.

    Running processes are read from their CPU clocks, which count nanoseconds; ended ones count in the ticks of /proc
    of their parent. So a process that ends between two readings is not missing from their difference.
    """
    total_s = 0.0
    for current, entry in tree_of(pid).items():
        total_s += entry.reaped_s
        with suppress(OSError):  # it ended since, and counts with what its parent reaped at the next reading
            total_s += time.clock_gettime(_process_clock(current))
    return total_s


def tree_of(pid: int) -> dict[int, ProcessEntry]:
    """Return a process and its descendants, as far as they run, by their pids."""
    processes = process_table()
    children: dict[int, list[int]] = {}
    for child, entry in processes.items():
        children.setdefault(entry.parent, []).append(child)
    found, waiting = {}, [pid]
    while waiting:
        current = waiting.pop()
        waiting += children.get(current, [])
        if current in processes:
            found[current] = processes[current]
    return found


def _process_clock(pid: int) -> int:
    return (~pid << 3) | _CPUCLOCK_OF_PROCESS
