"""Time to first byte."""

from longlook.core.model import Better
from longlook.metrics import Metric
from longlook.timeline.first_byte import waiting_ns
from longlook.timeline.timeline import Kind, Timeline


def measure(timeline: Timeline) -> float | None:
    """Return seconds from the first request, or a browser's navigation start, to the first byte of its answer."""
    waited_ns = waiting_ns(timeline)
    return None if waited_ns is None else waited_ns / 1e9


METRIC = Metric(
    name="time_to_first_byte",
    label="Time to first byte",
    unit="s",
    better=Better.LOWER,
    needs=(Kind.REQUEST_SENT, Kind.FIRST_BYTE, Kind.PAGE_STARTED, Kind.PAGE_FIRST_BYTE),
    measure=measure,
    summary="Browser: navigation start to the document's first byte. Plain client: first request, issued "
    "before the connection opens, to the first byte of its answer.",
)
