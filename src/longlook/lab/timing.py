"""What a laboratory must know of the time it runs in: real, on a host, or virtual, in a guest whose clock is ours."""

import time
from dataclasses import dataclass

from longlook.lab import system

_BEAT_S = 0.1  # starting takes some milliseconds of virtual time; an idle browser is not free while it waits


@dataclass(frozen=True)
class Timing:
    """`exact`: the same trial gives the same bytes. Only virtual time can be."""

    engine: str = "live"
    virtual: bool = False
    exact: bool = False

    def align(self) -> None:
        """In virtual time, sleep until the next full beat of the guest's clock; begin randomness again from its seed.

        What came before (imports, a search for a file, a slower start of another version) then leaves no trace in
        when the next thing begins or in what is random to it.
        """
        if self.virtual:
            now_s = time.clock_gettime(time.CLOCK_BOOTTIME)
            time.sleep((now_s // _BEAT_S + 1) * _BEAT_S - now_s)
            system.restart_random()
