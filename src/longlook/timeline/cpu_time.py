"""What a trial's ends did: CPU seconds, packets and system calls, and each for a gigabyte that was moved."""

import pyarrow.compute as pc

from longlook.core.model import Vantage
from longlook.timeline.timeline import Kind, Timeline

_GB = 1e9


def cpu_s(timeline: Timeline, end: Vantage) -> float | None:
    """Return the CPU seconds of an end's process tree, or None if they were not recorded."""
    used = timeline.select(Kind.CPU_USED, end)
    return None if used.num_rows == 0 else used["value"][0].as_py()


def per_gb(timeline: Timeline, kind: Kind, end: Vantage) -> float | None:
    """Return the value of an end's only row of a kind (`CPU_USED`, `PACKETS_TAKEN`, `SYSTEM_CALLS`) for each gigabyte.

    A gigabyte is 10⁹ bytes of bodies that arrived. None where there is no such row, a size is unknown or nothing
    arrived.
    """
    found, done = timeline.select(kind, end), timeline.select(Kind.OBJECT_DONE)
    if found.num_rows == 0 or done["size_bytes"].null_count:
        return None
    body_bytes = pc.sum(done["size_bytes"]).as_py() or 0
    return found["value"][0].as_py() * _GB / body_bytes if body_bytes else None
