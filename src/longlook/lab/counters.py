"""Readings of the machine around a measurement: CPU time and the losses that happen outside the link."""

import time
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from longlook.lab.network import Side
from longlook.lab.proctable import process_table

_IDLE, _IOWAIT, _STEAL, _COLUMNS = 3, 4, 7, 8  # of /proc/stat; guests, behind them, are counted in user time
_CPUCLOCK_OF_PROCESS = 2


@dataclass(frozen=True)
class Reading:
    """Counters at one moment; the difference of two is what `guard` judges."""

    monotonic_s: float
    busy_ticks: int  # all CPUs, without steal
    idle_ticks: int
    steal_ticks: int
    dropped: int  # packets lost on both sides outside the router
    udp_errors: int  # datagrams received and thrown away, both endpoints


def take_reading(sides: Iterable[Side]) -> Reading:
    """Read everything now."""
    first = Path("/proc/stat").read_text().partition("\n")[0]
    ticks = [int(word) for word in first.split()[1 : _COLUMNS + 1]]
    idle = ticks[_IDLE] + ticks[_IOWAIT]
    sides = tuple(sides)
    return Reading(
        monotonic_s=time.monotonic(),
        busy_ticks=sum(ticks) - idle - ticks[_STEAL],
        idle_ticks=idle,
        steal_ticks=ticks[_STEAL],
        dropped=sum(side.drops() for side in sides),
        udp_errors=sum(side.namespace.udp_errors() for side in sides),
    )


def out_of_memory_kills() -> int:
    """How many processes the kernel has killed for want of memory since it started."""
    lines = Path("/proc/vmstat").read_text().splitlines()
    return next((int(line.split()[1]) for line in lines if line.startswith("oom_kill ")), 0)


def cpu_of_tree(pid: int) -> float:
    """User and system CPU seconds of a running process, its running descendants, and all that these have reaped.

    The running ones are read from their CPU clocks, which count nanoseconds; the ended ones, known only to who reaped
    them, in ticks of /proc. So a process that ends between two readings is not lost from their difference.
    """
    processes = process_table()
    total_s = 0.0
    waiting = [pid]
    while waiting:
        current = waiting.pop()
        waiting.extend(child for child, entry in processes.items() if entry.parent == current)
        if current in processes:
            total_s += processes[current].reaped_s
            with suppress(OSError):  # it ended since, and counts with what its parent reaped at the next reading
                total_s += time.clock_gettime(_process_clock(current))
    return total_s


def _process_clock(pid: int) -> int:
    return (~pid << 3) | _CPUCLOCK_OF_PROCESS
