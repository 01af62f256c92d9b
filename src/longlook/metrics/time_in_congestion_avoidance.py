"""How much of the load the server spent in congestion avoidance."""

from longlook.events import EventKind
from longlook.metrics import Metric
from longlook.model import Better
from longlook.states import State
from longlook.statetimes import state_share_pct
from longlook.timeline import Timeline


def measure(timeline: Timeline) -> float | None:
    """Share in % of the load; None without the server's trace."""
    return state_share_pct(timeline, State.CONGESTION_AVOIDANCE, "server")


METRIC = Metric(
    name="time_in_congestion_avoidance",
    label="Time in congestion avoidance",
    unit="%",
    better=Better.LOWER,
    needs=(EventKind.STATE,),
    measure=measure,
    summary="Share of the load that the server's sender spent in congestion avoidance "
    "(states-rules.md; time in state as in IMC 2017, fig. 13). Needs `[capture]` of traces.",
)
