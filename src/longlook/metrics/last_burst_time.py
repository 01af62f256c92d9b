"""The time of what was asked for last."""

import pyarrow.compute as pc

from longlook.core.model import Better
from longlook.metrics import Metric
from longlook.timeline.timeline import Kind, Timeline


def measure(timeline: Timeline) -> float | None:
    """Return seconds from the last request to the end of the load, or None if an object failed."""
    window, requests = timeline.load_window_ns(), timeline.select(Kind.REQUEST_SENT)
    if window is None or not requests.num_rows or timeline.select(Kind.OBJECT_FAILED).num_rows:
        return None
    return (window[1] - int(pc.max(requests["time_ns"]).as_py())) / 1e9


METRIC = Metric(
    name="last_burst_time",
    label="Time of the last burst",
    unit="s",
    better=Better.LOWER,
    needs=(Kind.REQUEST_SENT, Kind.OBJECT_DONE),
    measure=measure,
    summary="Time from the last request to the last byte: of downloads in groups the time of the last group, whatever "
    "the idle times before it.",
)
