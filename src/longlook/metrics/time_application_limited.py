"""The share of the load that the server spent limited by the application or the receiver."""

from longlook.core.model import Better
from longlook.metrics import Metric
from longlook.timeline.events import EventKind
from longlook.timeline.state_times import state_share_pct
from longlook.timeline.states import State
from longlook.timeline.timeline import Timeline


def measure(timeline: Timeline) -> float | None:
    """Return the share of the load in %, or None without the server's trace."""
    return state_share_pct(timeline, State.APPLICATION_LIMITED, "server")


METRIC = Metric(
    name="time_application_limited",
    label="Time limited by the application",
    unit="%",
    better=Better.LOWER,
    needs=(EventKind.STATE,),
    measure=measure,
    summary="Share of the load that the server's sender spent limited by the application or the receiver "
    "(states-rules.md; time in state as in IMC 2017, fig. 13). Needs `[capture]` of traces.",
)
