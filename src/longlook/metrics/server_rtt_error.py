"""How far the server's estimate of the round trip time is from the link's truth."""

import numpy as np

from longlook.core.model import Better
from longlook.metrics import Metric
from longlook.timeline.events import EventKind, among
from longlook.timeline.round_trips import round_trips, with_samples
from longlook.timeline.timeline import Kind, Timeline


def measure(timeline: Timeline) -> float | None:
    """Return the mean error in % over all moments of the load at which a packet reached a server with a trace."""
    rows, window = timeline.events_in_load([EventKind.METRICS], "server"), timeline.load_window_ns()
    if rows is None or window is None:
        return None
    rows = with_samples(timeline, rows)
    rows = rows.filter(rows["srtt_ns"].fill_null(0).to_numpy() > 0)
    errors = []
    for flow, trips in round_trips(timeline).items():
        own = rows.filter(among(rows["flow"], [flow]))
        at_ns, srtt_ns = own["time_ns"].to_numpy(), own["srtt_ns"].to_numpy()
        held = np.searchsorted(at_ns, trips.time_ns, side="right") - 1
        known = (held >= 0) & (trips.time_ns <= window[1])
        errors.append(np.abs(srtt_ns[held[known]] / trips.round_trip_ns[known] - 1))
    found = np.concatenate(errors) if errors else np.zeros(0)
    return 100.0 * float(found.mean()) if len(found) else None


METRIC = Metric(
    name="server_rtt_error",
    label="Error of the server's round trip time",
    unit="%",
    better=Better.LOWER,
    needs=(EventKind.METRICS, Kind.PACKET_DELIVERED),
    measure=measure,
    summary="Mean distance of the smoothed round trip time, as the server's stack or kernel estimates it, from the "
    "round trip through the link, in % of that, whenever a packet reaches the server. "
    "The truth is the time in the link of that packet and of the packet that had arrived at the client last before it. "
    "Smoothing, delayed acknowledgements and jitter are part of the error. "
    "Needs `[capture]` of traces.",
)
