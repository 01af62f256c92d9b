"""How much of the load the server spent in slow start."""

from longlook.events import EventKind
from longlook.metrics import Metric
from longlook.model import Better
from longlook.states import State
from longlook.statetimes import state_share_pct
from longlook.timeline import Timeline


def measure(timeline: Timeline) -> float | None:
    """Share in % of the load; None without the server's trace."""
    return state_share_pct(timeline, State.SLOW_START, "server")


METRIC = Metric(
    name="time_in_slow_start",
    label="Time in slow start",
    unit="%",
    better=Better.LOWER,
    needs=(EventKind.STATE,),
    measure=measure,
    summary="Share of the load that the server's sender spent in slow start "
    "(states-rules.md; time in state as in IMC 2017, fig. 13). Needs `[capture]` of traces.",
)
