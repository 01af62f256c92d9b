"""The minimum round trip time that the server saw."""

import pyarrow.compute as pc

from longlook.core.model import Better
from longlook.metrics import Metric
from longlook.timeline.events import EventKind
from longlook.timeline.round_trips import with_samples
from longlook.timeline.timeline import Timeline


def measure(timeline: Timeline) -> float | None:
    """Return the minimum in ms of the server's own estimate in the load, or None without its trace."""
    rows = timeline.events_in_load([EventKind.METRICS], "server")
    if rows is None:
        return None
    rows = with_samples(timeline, rows)
    known = rows["min_rtt_ns"].filter(pc.greater(rows["min_rtt_ns"], 0))  # some stacks write 0 before the first sample
    return pc.min(known).as_py() / 1e6 if len(known) else None


METRIC = Metric(
    name="server_min_rtt",
    label="Minimum round trip time at the server",
    unit="ms",
    better=Better.LOWER,
    needs=(EventKind.METRICS,),
    measure=measure,
    summary="The minimum round trip time in the load as the server's stack or kernel estimates it (RFC 9002, "
    "5.2). Needs `[capture]` of traces.",
)
