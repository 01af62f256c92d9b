"""How long the urgent objects of a load take."""

from longlook.core import BLOCKING_URGENCY, Better, parse_priority
from longlook.metrics import Metric
from longlook.timeline import Kind, Timeline


def _urgent_load_time(timeline: Timeline) -> float | None:
    """Return seconds to the last byte of the last urgent object; None if none was asked for, or one did not arrive."""
    window = timeline.load_window_ns()
    urgent = {
        row["name"]
        for row in timeline.select(Kind.REQUEST_SENT).select(["name", "detail"]).to_pylist()
        if row["detail"] is not None and parse_priority(row["detail"]).urgency <= BLOCKING_URGENCY
    }
    arrived = timeline.select(Kind.OBJECT_DONE).select(["name", "time_ns"]).to_pylist()
    ended = [row["time_ns"] for row in arrived if row["name"] in urgent]
    if window is None or not urgent or {row["name"] for row in arrived if row["name"] in urgent} != urgent:
        return None
    return float(max(ended) - window[0]) / 1e9


METRICS = (
    Metric(
        name="urgent_load_time",
        label="Load time of urgent objects",
        unit="s",
        better=Better.LOWER,
        needs=(Kind.REQUEST_SENT, Kind.OBJECT_DONE),
        measure=_urgent_load_time,
        summary=f"Start of the load to the last byte of the last object that was asked for with an urgency of at most "
        f"{BLOCKING_URGENCY} (RFC 9218), which is what blocks rendering. Missing if the client sent no such priority.",
    ),
)
