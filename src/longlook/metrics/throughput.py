"""Throughput seen by the application."""

import pyarrow.compute as pc

from longlook.core.model import Better
from longlook.metrics import Metric
from longlook.timeline.timeline import Kind, Timeline


def measure(timeline: Timeline) -> float | None:
    """Return body bytes between the first request and the last byte in Mbit/s, with the wait for the connection."""
    sent, done = timeline.select(Kind.REQUEST_SENT), timeline.select(Kind.OBJECT_DONE)
    if sent.num_rows == 0 or done.num_rows == 0 or done["size_bytes"].null_count:
        return None
    elapsed_ns = pc.max(done["time_ns"]).as_py() - pc.min(sent["time_ns"]).as_py()
    if elapsed_ns <= 0:
        return None
    return float(pc.sum(done["size_bytes"]).as_py() * 8 * 1e3 / elapsed_ns)


METRIC = Metric(
    name="throughput",
    label="Throughput",
    unit="Mbit/s",
    better=Better.HIGHER,
    needs=(Kind.REQUEST_SENT, Kind.OBJECT_DONE),
    measure=measure,
    summary="Body bytes of all objects that arrived, divided by the time from the first request to the last byte.",
)
