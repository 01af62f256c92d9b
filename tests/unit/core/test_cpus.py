"""The CPUs that this process may use."""

import os

from longlook.core.cpus import usable_cpus


def test_an_affinity_mask_counts_and_not_the_machine() -> None:
    before = os.sched_getaffinity(0)
    assert usable_cpus() == sorted(before)
    try:
        os.sched_setaffinity(0, {min(before)})
        assert usable_cpus() == [min(before)]
    finally:
        os.sched_setaffinity(0, before)
