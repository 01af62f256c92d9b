"""The kind of time that a laboratory runs in: real time on a host, or a guest's virtual time."""

import time
from dataclasses import dataclass

from longlook.lab.linux import system

BEAT_NS = 100_000_000
"""The grid on which trials and their clients begin: starting takes milliseconds, and an idle browser costs CPU."""

BOOT_BEAT_NS = 1_000_000_000
"""The grid on which the first trial begins after boot: a search for files takes less, however long it takes."""

_HALF_A_TICK_NS = 128  # of the guest's clock: waking then means its next tick, whichever way the sleep is rounded


def unix_minus_monotonic_ns() -> int:
    """Return by how much the clock of this machine is ahead of its monotonic one; it changes if the clock is set."""
    return time.time_ns() - time.monotonic_ns()


@dataclass(frozen=True)
class Timing:
    """`exact`: the same trial gives the same bytes, which only virtual time can do."""

    engine: str = "live"
    virtual: bool = False
    exact: bool = False

    def align(self, beat_ns: int = BEAT_NS, phase_ns: int = 0) -> None:
        """In virtual time, sleep until the next full beat of the guest's clock, then reseed the kernel's randomness.

        Earlier work (imports, a search for a file, a slower start of another version) then influences neither the time
        nor the randomness of the next program. `phase_ns`, in units of the guest's clock (256 ns), is slept beyond the
        beat. In real time this does nothing.
        """
        if self.virtual:
            ahead_ns = beat_ns - time.clock_gettime_ns(time.CLOCK_BOOTTIME) % beat_ns + phase_ns
            time.sleep((ahead_ns - _HALF_A_TICK_NS) / 1e9)
            system.restart_random()
