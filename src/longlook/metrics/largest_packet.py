"""The largest packet that reached the client."""

import pyarrow.compute as pc

from longlook.core.model import Better
from longlook.metrics import Metric
from longlook.timeline.timeline import Kind, Timeline


def measure(timeline: Timeline) -> float | None:
    """Return the size in bytes, with IP header, of the largest packet delivered in the load; None if none was."""
    packets = timeline.packets_in_load([Kind.PACKET_DELIVERED], "down")
    return float(pc.max(packets["size_bytes"]).as_py()) if packets.num_rows else None


METRIC = Metric(
    name="largest_packet",
    label="Largest packet",
    unit="B",
    better=Better.HIGHER,
    needs=(Kind.PACKET_DELIVERED,),
    measure=measure,
    summary="Size of the largest IP packet that the link delivered to the client during the load: the path MTU that "
    "the server found, or was content with.",
)
"""Largest packet."""
