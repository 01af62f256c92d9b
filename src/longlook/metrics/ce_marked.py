"""Packets marked by the link, in the direction of the answers."""

from longlook.core.model import Better
from longlook.metrics import Metric
from longlook.timeline.competition import are_marked
from longlook.timeline.timeline import Kind, Timeline


def measure(timeline: Timeline) -> float | None:
    """Return the share in % of packets towards the client that a queue marked, or None if none was delivered."""
    packets = timeline.packets_in_load([Kind.PACKET_DELIVERED], "down")
    return 100 * float(are_marked(packets).mean()) if packets.num_rows else None


METRIC = Metric(
    name="ce_marked",
    label="Packets marked",
    unit="%",
    better=Better.LOWER,
    needs=(Kind.PACKET_DELIVERED,),
    measure=measure,
    summary="Share of the packets delivered to the client that a queue of the link marked with congestion "
    "experienced (ECN) during the load.",
)
