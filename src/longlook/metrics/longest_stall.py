"""How long nothing of an answer came to the client, at the worst moment of the load."""

import numpy as np
import pyarrow.compute as pc

from longlook.core.model import Better
from longlook.metrics import Metric
from longlook.timeline.timeline import Kind, Timeline

_SHARE_OF_LARGEST = 0.5


def measure(timeline: Timeline) -> float | None:
    """Return seconds; None without a load or without a packet to the client in it."""
    window = timeline.load_window_ns()
    packets = timeline.packets_in_load([Kind.PACKET_DELIVERED], "down")
    if window is None or packets.num_rows == 0:
        return None
    least = _SHARE_OF_LARGEST * pc.max(packets["size_bytes"]).as_py()
    data = packets.filter(pc.greater_equal(packets["size_bytes"], least))
    times = np.sort(np.concatenate([np.array(window), data["time_ns"].to_numpy()]))
    return float(np.diff(times).max()) / 1e9


METRIC = Metric(
    name="longest_stall",
    label="Longest stall",
    unit="s",
    better=Better.LOWER,
    needs=(Kind.PACKET_DELIVERED, Kind.REQUEST_SENT, Kind.PAGE_STARTED),
    measure=measure,
    summary="The longest time within the load in which no packet with data was delivered to the client over any link: "
    "at a handover or a new address, how long the transfer stood still. Packets of at least half the size of the "
    "load's largest count, so that acknowledgements and most probes do not end a stall. "
    "The time until the first such packet counts, too.",
)
"""Longest stall."""
