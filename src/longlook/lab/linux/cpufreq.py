"""The frequency of CPUs, if the kernel has a driver for it; a virtual machine mostly has none."""

from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

CPUS, STEADY = Path("/sys/devices/system/cpu"), "performance"


def governors(cpus: Path = CPUS) -> set[str]:
    """Return the governors that choose the frequencies of CPUs; none if the kernel does not choose them."""
    return {governor for governor, _ in _policies(cpus)}


def steady_mhz(cpus: Path = CPUS) -> float:
    """Return the lowest frequency of all CPUs that are to keep theirs (governor `performance`); 0 if none is.

    Under another governor a CPU is slow while it is idle, which says nothing of a trial.
    """
    return min((mhz for governor, mhz in _policies(cpus) if governor == STEADY), default=0.0)


def _policies(cpus: Path) -> Iterator[tuple[str, float]]:
    """Yield the governor and the frequency in MHz of each CPU that is switched on."""
    for cpu in cpus.glob("cpu[0-9]*/cpufreq"):
        with suppress(OSError, ValueError):  # it is switched off
            yield (cpu / "scaling_governor").read_text().strip(), int((cpu / "scaling_cur_freq").read_text()) / 1000
