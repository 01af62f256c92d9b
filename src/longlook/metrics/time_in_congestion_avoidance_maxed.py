"""The share of the load that the server's window stood at its cap."""

from longlook.core.model import Better
from longlook.metrics import Metric
from longlook.timeline.events import EventKind
from longlook.timeline.state_times import state_share_pct
from longlook.timeline.states import State
from longlook.timeline.timeline import Timeline


def measure(timeline: Timeline) -> float | None:
    """Return the share of the load in %, or None without the server's trace."""
    return state_share_pct(timeline, State.CONGESTION_AVOIDANCE_MAXED, "server")


METRIC = Metric(
    name="time_in_congestion_avoidance_maxed",
    label="Time at the largest window",
    unit="%",
    better=Better.LOWER,
    needs=(EventKind.STATE,),
    measure=measure,
    summary="Share of the load that the server's congestion window was in use and stayed at its largest value so far "
    "for ten round trips or more, as a capped one does (rule `cap` of states-rules.md). IMC 2017, fig. 3a, "
    "has it as CongestionAvoidanceMaxed. Needs `[capture]` of traces.",
)
