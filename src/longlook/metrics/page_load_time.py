"""Page load time."""

from longlook.core.model import Better
from longlook.metrics import Metric
from longlook.timeline.timeline import Kind, Timeline


def measure(timeline: Timeline) -> float | None:
    """Return the seconds of the load window, or None if an object failed: such a page did not load."""
    window = timeline.load_window_ns()
    if window is None or timeline.select(Kind.OBJECT_FAILED).num_rows:
        return None
    return (window[1] - window[0]) / 1e9


METRIC = Metric(
    name="page_load_time",
    label="Page load time",
    unit="s",
    better=Better.LOWER,
    needs=(Kind.REQUEST_SENT, Kind.OBJECT_DONE, Kind.PAGE_STARTED, Kind.PAGE_LOADED),
    measure=measure,
    summary="Browser: navigation start to load event. Plain client: first request, issued before the "
    "connection opens, to the last object's last byte.",
)
