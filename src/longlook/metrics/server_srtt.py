"""The smoothed round trip time at the server, averaged over the load."""

import numpy as np
import pyarrow as pa

from longlook.core.model import Better
from longlook.metrics import Metric
from longlook.timeline.events import EventKind, among
from longlook.timeline.timeline import Timeline


def measure(timeline: Timeline) -> float | None:
    """Return the mean over time in ms, each estimate held until the next, then the mean over connections."""
    rows = timeline.events_in_load([EventKind.METRICS], "server")
    window = timeline.load_window_ns()
    if rows is None or window is None or timeline.events is None:
        return None
    flows = [flow for flow, vantage in timeline.events.senders() if vantage == "server"]
    means = [_mean_ns(rows.filter(among(rows["flow"], [flow])), window[1]) for flow in flows]
    known = [mean for mean in means if mean is not None]
    return float(np.mean(known)) / 1e6 if known else None


def _mean_ns(rows: pa.Table, end_ns: int) -> float | None:
    srtt_ns = rows["srtt_ns"].fill_null(0).to_numpy()
    held_ns = np.diff(rows["time_ns"].to_numpy(), append=end_ns)[srtt_ns > 0]
    return float(np.average(srtt_ns[srtt_ns > 0], weights=held_ns)) if held_ns.sum() > 0 else None


METRIC = Metric(
    name="server_srtt",
    label="Smoothed round trip time at the server",
    unit="ms",
    better=Better.LOWER,
    needs=(EventKind.METRICS,),
    measure=measure,
    summary="Mean over the load of the smoothed round trip time as the server's stack or kernel estimates it "
    "(RFC 9002, 5.3; RFC 6298). Its distance to the minimum is the queueing that the sender sees. "
    "Needs `[capture]` of traces.",
)
