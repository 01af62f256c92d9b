"""Whose congestion window is larger where flows compete."""

from longlook.core.model import Better
from longlook.metrics import Metric
from longlook.timeline.events import EventKind
from longlook.timeline.timeline import Timeline
from longlook.timeline.windows import share_of_first_group


def measure(timeline: Timeline) -> float | None:
    """Return the first group's mean window in % of the sum of it and the competing flows'."""
    return share_of_first_group(timeline, grown=False)


METRIC = Metric(
    name="window_share",
    label="Share of the congestion windows",
    unit="%",
    better=Better.HIGHER,
    needs=(EventKind.METRICS,),
    measure=measure,
    summary="Mean congestion window of a flow of the arm's first group, in % of the sum of it and that of a "
    "competing flow, while all flows competed. A value of 50 is windows alike (IMC 2017, fig. 5). None where a flow "
    "has no trace. Needs `[capture]` of traces.",
)
