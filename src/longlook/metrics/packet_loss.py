"""Packets dropped by the link, in the direction of the answers."""

import pyarrow as pa
import pyarrow.compute as pc

from longlook.core.model import Better
from longlook.metrics import Metric
from longlook.timeline.timeline import Kind, Timeline


def measure(timeline: Timeline) -> float | None:
    """Return the share in % of packets towards the client that were dropped, or None if the link saw none."""
    packets = timeline.packets_in_load([Kind.PACKET_DELIVERED, Kind.PACKET_DROPPED], "down")
    if packets.num_rows == 0:
        return None
    dropped = pc.sum(pc.equal(packets["kind"].cast(pa.string()), Kind.PACKET_DROPPED.value)).as_py()
    return float(100.0 * dropped / packets.num_rows)


METRIC = Metric(
    name="packet_loss",
    label="Packets dropped",
    unit="%",
    better=Better.LOWER,
    needs=(Kind.PACKET_DELIVERED, Kind.PACKET_DROPPED),
    measure=measure,
    summary="Share of the packets towards the client that the link dropped during the load, at random or "
    "because its queue was full.",
)
