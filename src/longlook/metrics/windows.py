"""The congestion window of the server's sender."""

import numpy as np

from longlook.core import OF_SHARES, Better, Margin, Quantity
from longlook.metrics import Metric
from longlook.timeline import EventKind, State, Timeline, among, share_of_first_group, share_of_rises, windows_over_load


def _congestion_window(timeline: Timeline) -> float | None:
    """Return the mean over time in KB (1000 bytes), each value held until the next; several connections add up."""
    windows = windows_over_load(timeline)
    return sum(each.mean_bytes for each in windows) / 1e3 if windows else None


_AFTER_SLOW_START = (
    State.CONGESTION_AVOIDANCE,
    State.CONGESTION_AVOIDANCE_MAXED,
    State.RECOVERY,
    State.TIMEOUT,
)


def _slow_start_exit(timeline: Timeline) -> float | None:
    """Return KB (1000 bytes) just before the first state after slow start, or None if the load ended before.

    The smallest of several connections counts. A recovery ends slow start too, and so does a limited application that
    is followed by congestion avoidance.
    """
    states = timeline.events_in_load([EventKind.STATE], timeline.sender)
    metrics = timeline.events_in_load([EventKind.METRICS], timeline.sender)
    if states is None or metrics is None or timeline.events is None:
        return None
    metrics = metrics.filter(metrics["cwnd_bytes"].is_valid())
    windows = []
    for flow, vantage in timeline.events.senders():
        own = states.filter(among(states["flow"], [flow]))
        left = own.filter(among(own["name"], _AFTER_SLOW_START))
        known = metrics.filter(among(metrics["flow"], [flow]))
        if vantage != timeline.sender or left.num_rows == 0:
            continue
        before = np.searchsorted(known["time_ns"].to_numpy(), left["time_ns"][0].as_py(), side="left")
        if before > 0:
            windows.append(known["cwnd_bytes"][int(before) - 1].as_py() / 1e3)
    return min(windows) if windows else None


def _window_share(timeline: Timeline) -> float | None:
    """Return the first group's mean window in % of the sum of it and the competing flows'."""
    return share_of_first_group(timeline, grown=False)


def _window_growth_share(timeline: Timeline) -> float | None:
    """Return what the first group's window grew in % of the sum of that and what the competing flows' grew."""
    return share_of_first_group(timeline, grown=True)


def _window_slope_share(timeline: Timeline) -> float | None:
    """Return the first group's value in % of the sum of that and the competing flows'."""
    return share_of_rises(timeline, steepness=True)


def _window_rise_frequency_share(timeline: Timeline) -> float | None:
    """Return the first group's value in % of the sum of that and the competing flows'."""
    return share_of_rises(timeline, steepness=False)


OF_WINDOWS = Margin(5.0, "rounds draw rate and round trip, whose product a window fills, within ± 5 % each")

METRICS = (
    Metric(
        name="congestion_window",
        label="Congestion window",
        unit="KB",
        better=Better.HIGHER,
        margin=OF_WINDOWS,
        needs=(EventKind.METRICS,),
        measure=_congestion_window,
        summary="Mean over the load of the server's congestion window, from its QUIC stack's log or the kernel's "
        "records (as in IMC 2017, figs. 5 and 9). Needs `[capture]` of traces.",
    ),
    Metric(
        name="slow_start_exit",
        label="Congestion window when slow start ended",
        unit="KB",
        better=Better.HIGHER,
        margin=OF_WINDOWS,
        needs=(EventKind.STATE, EventKind.METRICS),
        measure=_slow_start_exit,
        summary="The server's congestion window just before it left slow start, by a loss or by HyStart (RFC "
        "9406). None if the load ended first. Needs `[capture]` of traces.",
    ),
    Metric(
        name="window_share",
        label="Share of the congestion windows",
        unit="%",
        better=Better.HIGHER,
        quantity=Quantity.SHARE,
        margin=OF_SHARES,
        needs=(EventKind.METRICS,),
        measure=_window_share,
        summary="Mean congestion window of a flow of the arm's first group, in % of the sum of it and a "
        "competing flow's, while all flows competed. A value of 50 is windows alike (IMC 2017, fig. 5). None "
        "if a flow has no trace. Needs `[capture]` of traces.",
    ),
    Metric(
        name="window_growth_share",
        label="Share of the windows' growth",
        unit="%",
        better=Better.HIGHER,
        quantity=Quantity.SHARE,
        margin=OF_SHARES,
        needs=(EventKind.METRICS,),
        measure=_window_growth_share,
        summary="Sum of all increases of the congestion window of a flow of the arm's first group, in % of the sum of "
        "that and a competing flow's, while all flows competed. It is above 50 where the first group's window "
        "grows more steeply or more often (IMC 2017, fig. 5b). None if a flow has no trace. Needs "
        "`[capture]` of traces.",
    ),
    Metric(
        name="window_slope_share",
        label="Share of the windows' slopes",
        unit="%",
        better=Better.HIGHER,
        quantity=Quantity.SHARE,
        margin=OF_SHARES,
        needs=(EventKind.METRICS,),
        measure=_window_slope_share,
        summary="Bytes by which the congestion window of a flow of the arm's first group rises in a "
        "round trip in which it rises, while all flows competed. "
        "They are in % of the sum of these bytes and a competing flow's. "
        "The share is above 50 if the first group's window rises more steeply (IMC 2017, fig. 5b). "
        "Windows are looked at once in each round trip of the path without queues. "
        "None if a flow has no trace or the path's round trip varies. Needs `[capture]` of traces.",
    ),
    Metric(
        name="window_rise_frequency_share",
        label="Share of the windows' rises",
        unit="%",
        better=Better.HIGHER,
        quantity=Quantity.SHARE,
        margin=OF_SHARES,
        needs=(EventKind.METRICS,),
        measure=_window_rise_frequency_share,
        summary="Share of the round trips in which the congestion window of a flow of the arm's first "
        "group rises, in % of the sum of that and a competing flow's, while all flows competed. "
        "It is above 50 where the first group's window rises more often (IMC 2017, fig. 5b). "
        "Windows are looked at once in each round trip of the path without queues. "
        "None if a flow has no trace or the path's round trip varies. Needs `[capture]` of traces.",
    ),
)
