"""The share of the load that the server waited for what its timers had sent."""

from longlook.core.model import Better
from longlook.metrics import Metric
from longlook.timeline.events import EventKind
from longlook.timeline.state_times import state_share_pct
from longlook.timeline.states import State
from longlook.timeline.timeline import Timeline


def measure(timeline: Timeline) -> float | None:
    """Return the share of the load in %, or None without the server's trace."""
    probes = state_share_pct(timeline, State.LOSS_PROBE, "server")
    timeouts = state_share_pct(timeline, State.TIMEOUT, "server")
    return None if probes is None or timeouts is None else probes + timeouts


METRIC = Metric(
    name="time_in_timeouts",
    label="Time in loss probes and timeouts",
    unit="%",
    better=Better.LOWER,
    needs=(EventKind.STATE,),
    measure=measure,
    summary="Share of the load that the server's sender spent in loss probe or timeout, from a timer that "
    "fired to the next acknowledgement. See states-rules.md; IMC 2017, fig. 3a, has them as "
    "TailLossProbe and RetransmissionTimeout. Needs `[capture]` of traces.",
)
