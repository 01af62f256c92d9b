"""Readings of the machine around a measurement: CPU time and the losses that happen outside the link."""

import time
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from longlook.lab.topology import Side

_IDLE, _IOWAIT, _STEAL, _COLUMNS = 3, 4, 7, 8  # of /proc/stat; guests, behind them, are counted in user time


@dataclass(frozen=True)
class Reading:
    """Counters at one moment; the difference of two is what `guard` judges."""

    monotonic_s: float
    busy_ticks: int  # all CPUs, without steal
    idle_ticks: int
    steal_ticks: int
    dropped: int  # packets lost on both sides outside the router
    udp_errors: int  # datagrams received and thrown away for want of buffer, both endpoints


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
