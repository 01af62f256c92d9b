"""What a trial's programs computed, as CPU seconds of an end and per gigabyte that it moved."""

import pyarrow.compute as pc

from longlook.core.model import Vantage
from longlook.timeline.timeline import Kind, Timeline

_GB = 1e9


def cpu_s(timeline: Timeline, end: Vantage) -> float | None:
    """Return the CPU seconds of an end's process tree, or None if they were not recorded."""
    used = timeline.select(Kind.CPU_USED, end)
    return None if used.num_rows == 0 else used["value"][0].as_py()


def cpu_s_per_gb(timeline: Timeline, end: Vantage) -> float | None:
    """Return them per 10⁹ bytes of bodies that arrived; None, too, where a size is unknown or nothing arrived."""
    used_s, done = cpu_s(timeline, end), timeline.select(Kind.OBJECT_DONE)
    if used_s is None or done["size_bytes"].null_count:
        return None
    body_bytes = pc.sum(done["size_bytes"]).as_py() or 0
    return used_s * _GB / body_bytes if body_bytes else None
