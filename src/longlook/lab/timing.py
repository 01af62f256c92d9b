"""What a laboratory must know of the time it runs in: real, on a host, or virtual, in a guest whose clock is ours."""

import time
from dataclasses import dataclass

from longlook.lab.linux import system

BEAT_NS = 100_000_000
"""Between what a trial begins with: starting takes milliseconds, and an idle browser is not free while it waits."""

BOOT_BEAT_NS = 1_000_000_000
"""Between boot and all trials: however long a search for files takes, it ends in the first second."""

_HALF_A_TICK_NS = 128  # of the guest's clock: waking then means its next tick, however the sleep is rounded


@dataclass(frozen=True)
class Timing:
    """`exact`: the same trial gives the same bytes. Only virtual time can be."""

    engine: str = "live"
    virtual: bool = False
    exact: bool = False

    def align(self, beat_ns: int = BEAT_NS) -> None:
        """In virtual time, sleep until the next full beat of the guest's clock; begin randomness again from its seed.

        What came before (imports, a search for a file, a slower start of another version) then leaves no trace in
        when the next thing begins or in what is random to it.
        """
        if self.virtual:
            ahead_ns = beat_ns - time.clock_gettime_ns(time.CLOCK_BOOTTIME) % beat_ns
            time.sleep((ahead_ns - _HALF_A_TICK_NS) / 1e9)
            system.restart_random()
