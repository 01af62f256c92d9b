"""The server's congestion window, averaged over the load."""

import numpy as np

from longlook.core.model import Better
from longlook.metrics import Metric
from longlook.timeline.events import EventKind, among
from longlook.timeline.timeline import Timeline


def measure(timeline: Timeline) -> float | None:
    """Return the mean over time in KB (1000 bytes), each value held until the next; several connections add up."""
    rows = timeline.events_in_load([EventKind.METRICS], "server")
    window = timeline.load_window_ns()
    if rows is None or window is None or timeline.events is None:
        return None
    rows = rows.filter(rows["cwnd_bytes"].is_valid())
    means = []
    for flow, vantage in timeline.events.senders():
        own = rows.filter(among(rows["flow"], [flow]))
        held_ns = np.diff(own["time_ns"].to_numpy(), append=window[1])
        if vantage == "server" and held_ns.sum() > 0:
            means.append(float(np.average(own["cwnd_bytes"].to_numpy(), weights=held_ns)))
    return sum(means) / 1e3 if means else None


METRIC = Metric(
    name="congestion_window",
    label="Congestion window",
    unit="KB",
    better=Better.HIGHER,
    needs=(EventKind.METRICS,),
    measure=measure,
    summary="Mean over the load of the server's congestion window, from its QUIC stack's log or the kernel's "
    "records (as in IMC 2017, figs. 5 and 9). Needs `[capture]` of traces.",
)
