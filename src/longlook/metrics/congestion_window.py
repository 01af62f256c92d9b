"""The server's congestion window, averaged over the load."""

from longlook.core.model import Better
from longlook.metrics import Metric
from longlook.timeline.events import EventKind
from longlook.timeline.timeline import Timeline
from longlook.timeline.windows import windows_over_load


def measure(timeline: Timeline) -> float | None:
    """Return the mean over time in KB (1000 bytes), each value held until the next; several connections add up."""
    windows = windows_over_load(timeline)
    return sum(each.mean_bytes for each in windows) / 1e3 if windows else None


METRIC = Metric(
    name="congestion_window",
    label="Congestion window",
    unit="KB",
    better=Better.HIGHER,
    needs=(EventKind.METRICS,),
    measure=measure,
    summary="Mean over the load of the server's congestion window, from its QUIC stack's log or the kernel's "
    "records (as in IMC 2017, figs. 5 and 9). Needs `[capture]` of traces.",
)
