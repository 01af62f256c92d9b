"""Readings of the machine's counters around a measurement: CPU time, and losses that happen outside the link."""

import time
from collections.abc import Iterable
from pathlib import Path

from longlook.lab.guard import CounterReading
from longlook.lab.linux import cpufreq
from longlook.lab.topology import EndpointNamespace

_IDLE, _IOWAIT, _STEAL, _COLUMNS = (
    3,
    4,
    7,
    8,
)  # of /proc/stat; the columns behind them count guests, which user time already includes


def take_reading(sides: Iterable[EndpointNamespace]) -> CounterReading:
    """Read all counters now; `sides` are the endpoints' sides of the network."""
    first = Path("/proc/stat").read_text().partition("\n")[0]
    ticks = [int(word) for word in first.split()[1 : _COLUMNS + 1]]
    idle = ticks[_IDLE] + ticks[_IOWAIT]
    sides = tuple(sides)
    return CounterReading(
        monotonic_s=time.monotonic(),
        busy_ticks=sum(ticks) - idle - ticks[_STEAL],
        idle_ticks=idle,
        steal_ticks=ticks[_STEAL],
        dropped=sum(side.drops() for side in sides),
        udp_errors=sum(namespace.udp_errors() for namespace in {side.namespace for side in sides}),
        cpu_mhz=cpufreq.steady_mhz() if any(side.quota for side in sides) else 0.0,
    )


def out_of_memory_kills() -> int:
    """Return how many processes the kernel has killed because memory ran out, since it started."""
    lines = Path("/proc/vmstat").read_text().splitlines()
    return next((int(line.split()[1]) for line in lines if line.startswith("oom_kill ")), 0)
