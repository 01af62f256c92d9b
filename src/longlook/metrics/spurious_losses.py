"""Packets that the server took for lost although the link delivered them."""

import pyarrow.compute as pc

from longlook.events import EventKind
from longlook.metrics import Metric
from longlook.model import Better
from longlook.timeline import Timeline


def measure(timeline: Timeline) -> float | None:
    """Share in % of the packets declared lost in the load; None without the server's trace, or where none was."""
    lost = timeline.events_in_load([EventKind.PACKET_LOST, EventKind.PACKET_RETRANSMITTED], "server")
    spurious = timeline.events_in_load([EventKind.PACKET_SPURIOUS], "server")
    if lost is None or spurious is None:
        return None
    declared = pc.sum(pc.is_valid(lost["packet_number"])).as_py() or 0
    return float(100.0 * spurious.num_rows / declared) if declared else None


METRIC = Metric(
    name="spurious_losses",
    label="Losses that were none",
    unit="%",
    better=Better.LOWER,
    needs=(EventKind.PACKET_LOST, EventKind.PACKET_RETRANSMITTED, EventKind.PACKET_SPURIOUS),
    measure=measure,
    summary="Share of the packets that the server declared lost, or as TCP sent again, in the load although the first "
    "copy was delivered, by the link's log (declared in RFC 9002, 6.1; what reordering does to it: IMC 2017, section 5.2, "
    "fig. 10). Needs `[capture]` of traces.",
)
