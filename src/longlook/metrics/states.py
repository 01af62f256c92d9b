"""The share of a load that the server's sender spent in each state."""

from longlook.core import OF_SHARES, Better, Quantity
from longlook.metrics import Metric
from longlook.timeline import EventKind, State, Timeline, state_share_pct


def share_of(name: str, label: str, states: tuple[State, ...], summary: str) -> Metric:
    """Return the metric of the share of a load, in %, that the server's sender spent in these states together."""

    def measure(timeline: Timeline) -> float | None:
        shares = [state_share_pct(timeline, state, timeline.sender) for state in states]
        known = [share for share in shares if share is not None]
        return sum(known) if len(known) == len(shares) else None

    return Metric(
        name=name,
        label=label,
        unit="%",
        better=Better.LOWER,
        quantity=Quantity.SHARE,
        margin=OF_SHARES,
        needs=(EventKind.STATE,),
        measure=measure,
        summary=f"Share of the load that {summary} Needs `[capture]` of traces.",
    )


_AS_PUBLISHED = "(timeline.md, States; time in state as in IMC 2017, fig. 13)."

METRICS = (
    share_of(
        "time_in_slow_start",
        "Time in slow start",
        (State.SLOW_START,),
        f"the server's sender spent in slow start {_AS_PUBLISHED}",
    ),
    share_of(
        "time_in_congestion_avoidance",
        "Time in congestion avoidance",
        (State.CONGESTION_AVOIDANCE,),
        f"the server's sender spent in congestion avoidance {_AS_PUBLISHED}",
    ),
    share_of(
        "time_in_congestion_avoidance_maxed",
        "Time at the largest window",
        (State.CONGESTION_AVOIDANCE_MAXED,),
        "the server's congestion window was in use and stayed at its largest value so far for ten round trips or "
        "more, as a capped one does (rule `cap` of timeline.md). IMC 2017, fig. 3a, has it as "
        "CongestionAvoidanceMaxed.",
    ),
    share_of(
        "time_in_recovery",
        "Time in recovery",
        (State.RECOVERY,),
        f"the server's sender spent in recovery from a loss {_AS_PUBLISHED}",
    ),
    share_of(
        "time_in_timeouts",
        "Time in loss probes and timeouts",
        (State.LOSS_PROBE, State.TIMEOUT),
        "the server's sender spent in loss probe or timeout, from a timer that fired to the next acknowledgement. "
        "See timeline.md; IMC 2017, fig. 3a, has them as TailLossProbe and RetransmissionTimeout.",
    ),
    share_of(
        "time_application_limited",
        "Time limited by the application",
        (State.APPLICATION_LIMITED,),
        f"the server's sender spent limited by the application or the receiver {_AS_PUBLISHED}",
    ),
)
