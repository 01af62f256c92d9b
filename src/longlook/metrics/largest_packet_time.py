"""How long a server takes until packets of the size that it settles on arrive."""

import pyarrow.compute as pc

from longlook.core.model import Better
from longlook.metrics import Metric
from longlook.timeline.timeline import Kind, Timeline


def measure(timeline: Timeline) -> float | None:
    """Return seconds from the first request to the first delivery of a packet of the load's largest size."""
    window = timeline.load_window_ns()
    packets = timeline.packets_in_load([Kind.PACKET_DELIVERED], "down")
    if window is None or packets.num_rows == 0:
        return None
    largest = packets.filter(pc.equal(packets["size_bytes"], pc.max(packets["size_bytes"])))
    return (int(pc.min(largest["time_ns"]).as_py()) - window[0]) / 1e9


METRIC = Metric(
    name="largest_packet_time",
    label="Time to largest packet",
    unit="s",
    better=Better.LOWER,
    needs=(Kind.PACKET_DELIVERED, Kind.REQUEST_SENT, Kind.PAGE_STARTED),
    measure=measure,
    summary="Time from the load's first request to the first delivery of a packet of the largest size that the client "
    "gets in it: with path MTU discovery (RFC 8899) that is the last probe that succeeds.",
)
"""Time to largest packet."""
