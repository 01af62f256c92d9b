"""Whose congestion window grows more where flows compete."""

from longlook.core.model import Better
from longlook.metrics import Metric
from longlook.timeline.events import EventKind
from longlook.timeline.timeline import Timeline
from longlook.timeline.windows import share_of_first_group


def measure(timeline: Timeline) -> float | None:
    """Return what the first group's window grew in % of the sum of that and what the competing flows' grew."""
    return share_of_first_group(timeline, grown=True)


METRIC = Metric(
    name="window_growth_share",
    label="Share of the windows' growth",
    unit="%",
    better=Better.HIGHER,
    needs=(EventKind.METRICS,),
    measure=measure,
    summary="Sum of all increases of the congestion window of a flow of the arm's first group, in % of the sum of "
    "that and a competing flow's, while all flows competed. It is above 50 where the first group's window grows more "
    "steeply or more often (IMC 2017, fig. 5b). None where a flow has no trace. Needs `[capture]` of traces.",
)
