"""The server's congestion window when it left slow start."""

import numpy as np

from longlook.core.model import Better
from longlook.metrics import Metric
from longlook.timeline.events import EventKind, among
from longlook.timeline.states import State
from longlook.timeline.timeline import Timeline

_AFTER_SLOW_START = (
    State.CONGESTION_AVOIDANCE,
    State.CONGESTION_AVOIDANCE_MAXED,
    State.RECOVERY,
    State.TIMEOUT,
)


def measure(timeline: Timeline) -> float | None:
    """Return KB (1000 bytes) just before the first state after slow start, or None if the load ended before.

    The smallest of several connections counts. A recovery ends slow start too, and so does a limited application that
    is followed by congestion avoidance.
    """
    states = timeline.events_in_load([EventKind.STATE], "server")
    metrics = timeline.events_in_load([EventKind.METRICS], "server")
    if states is None or metrics is None or timeline.events is None:
        return None
    metrics = metrics.filter(metrics["cwnd_bytes"].is_valid())
    windows = []
    for flow, vantage in timeline.events.senders():
        own = states.filter(among(states["flow"], [flow]))
        left = own.filter(among(own["name"], _AFTER_SLOW_START))
        known = metrics.filter(among(metrics["flow"], [flow]))
        if vantage != "server" or left.num_rows == 0:
            continue
        before = np.searchsorted(known["time_ns"].to_numpy(), left["time_ns"][0].as_py(), side="left")
        if before > 0:
            windows.append(known["cwnd_bytes"][int(before) - 1].as_py() / 1e3)
    return min(windows) if windows else None


METRIC = Metric(
    name="slow_start_exit",
    label="Congestion window when slow start ended",
    unit="KB",
    better=Better.HIGHER,
    needs=(EventKind.STATE, EventKind.METRICS),
    measure=measure,
    summary="The server's congestion window just before it left slow start, by a loss or by HyStart (RFC "
    "9406). None if the load ended first. Needs `[capture]` of traces.",
)
