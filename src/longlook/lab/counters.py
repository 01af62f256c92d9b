"""Readings of the machine around a measurement: CPU time and the losses that happen outside the link."""

import time
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from longlook.lab.network import Side
from longlook.lab.process import children_of

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


def cpu_of_tree(pid: int) -> float:
    """User and system CPU seconds of a running process and its running descendants.

    Read from each process's CPU clock, which counts nanoseconds where /proc counts ticks.
    """
    total_s = 0.0
    waiting = [pid]
    while waiting:
        current = waiting.pop()
        waiting.extend(children_of(current))
        with suppress(OSError):  # it ended meanwhile: what it used is lost with it
            total_s += time.clock_gettime(_process_clock(current))
    return total_s


def _process_clock(pid: int) -> int:
    return (~pid << 3) | _CPUCLOCK_OF_PROCESS
