"""Readings of the machine's counters around a measurement: CPU time, and losses that happen outside the link."""

import time
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

from longlook.lab.guard import Reading
from longlook.lab.topology import Side

_IDLE, _IOWAIT, _STEAL, _COLUMNS = (
    3,
    4,
    7,
    8,
)  # of /proc/stat; the columns behind them count guests, which user time already includes
_CPUS, _STEADY = Path("/sys/devices/system/cpu"), "performance"


def take_reading(sides: Iterable[Side]) -> Reading:
    """Read all counters now; `sides` are the endpoints' sides of the network."""
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
        cpu_mhz=_cpu_mhz(),
    )


def _cpu_mhz() -> float:
    """Return the lowest frequency of all CPUs that are to keep theirs (governor `performance`); 0 where none is.

    Under another governor a CPU is slow while it is idle, which says nothing of a trial. A virtual machine mostly has
    no governor.
    """
    found = []
    for cpu in _CPUS.glob("cpu[0-9]*/cpufreq"):
        with suppress(OSError, ValueError):  # a CPU that is switched off
            if (cpu / "scaling_governor").read_text().strip() == _STEADY:
                found.append(int((cpu / "scaling_cur_freq").read_text()) / 1000)
    return min(found, default=0.0)


def out_of_memory_kills() -> int:
    """Return how many processes the kernel has killed because memory ran out, since it started."""
    lines = Path("/proc/vmstat").read_text().splitlines()
    return next((int(line.split()[1]) for line in lines if line.startswith("oom_kill ")), 0)
