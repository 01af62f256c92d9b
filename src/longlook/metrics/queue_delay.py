"""Queueing delay at the bottleneck, in the direction of the answers."""

import pyarrow.compute as pc

from longlook.core.model import Better
from longlook.metrics import Metric
from longlook.timeline.timeline import Kind, Timeline


def measure(timeline: Timeline) -> float | None:
    """Return the mean wait in ms of the packets delivered to the client, or None if the link has no bottleneck."""
    packets = timeline.packets_in_load([Kind.PACKET_DELIVERED], "down")
    mean_s = pc.mean(packets["value"]).as_py()
    return None if mean_s is None else mean_s * 1e3


METRIC = Metric(
    name="queue_delay",
    label="Mean queueing delay",
    unit="ms",
    better=Better.LOWER,
    needs=(Kind.PACKET_DELIVERED,),
    measure=measure,
    summary="Mean time that a packet towards the client waited in the link's queues during the load, until "
    "its own transmission began. None if the link has no rate.",
)
