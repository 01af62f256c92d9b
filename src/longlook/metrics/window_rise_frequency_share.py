"""How often a flow's window rises where flows compete."""

from longlook.core.model import Better
from longlook.metrics import Metric
from longlook.timeline.events import EventKind
from longlook.timeline.timeline import Timeline
from longlook.timeline.windows import share_of_rises


def measure(timeline: Timeline) -> float | None:
    """Return the first group's value in % of the sum of that and the competing flows'."""
    return share_of_rises(timeline, steepness=False)


METRIC = Metric(
    name="window_rise_frequency_share",
    label="Share of the windows' rises",
    unit="%",
    better=Better.HIGHER,
    needs=(EventKind.METRICS,),
    measure=measure,
    summary="Share of the round trips in which the congestion window of a flow of the arm's first "
    "group rises, in % of the sum of that and a competing flow's, while all flows competed. "
    "It is above 50 where the first group's window rises more often (IMC 2017, fig. 5b). "
    "Windows are looked at once in each round trip of the path without queues. "
    "None where a flow has no trace or the path's round trip varies. Needs `[capture]` of traces.",
)
