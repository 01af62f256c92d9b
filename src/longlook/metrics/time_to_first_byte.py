"""Time to first byte."""

import pyarrow.compute as pc

from longlook.core.model import Better
from longlook.metrics import Metric
from longlook.timeline.timeline import Kind, Timeline


def measure(timeline: Timeline) -> float | None:
    """Return seconds from the first request, or a browser's navigation start, to the first byte of its answer."""
    started = timeline.select(Kind.PAGE_STARTED)
    answered = timeline.select(Kind.PAGE_FIRST_BYTE)
    if started.num_rows == 0:
        started = timeline.select(Kind.REQUEST_SENT).slice(0, 1)
        answered = timeline.select(Kind.FIRST_BYTE)
        if started.num_rows:
            answered = answered.filter(pc.equal(answered["name"].cast("string"), started["name"][0].as_py()))
            if (flow := started["flow"][0].as_py()) is not None:  # of several connections, the request's own
                answered = answered.filter(pc.equal(answered["flow"].cast("string"), flow))
    if started.num_rows == 0 or answered.num_rows == 0:
        return None
    seconds = (answered["time_ns"][0].as_py() - started["time_ns"][0].as_py()) / 1e9
    return float(seconds)


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
