"""The CPUs of this process."""

import os


def usable_cpus() -> list[int]:
    """Return the numbers of the CPUs that this process may use, in order: affinity masks and cpusets count."""
    return sorted(os.sched_getaffinity(0))
