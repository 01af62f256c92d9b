"""Segments that the server's kernel retransmitted."""

import pyarrow.compute as pc

from longlook.core.model import Better
from longlook.metrics import Metric
from longlook.timeline.events import EventKind, among
from longlook.timeline.timeline import Kind, Timeline


def measure(timeline: Timeline) -> float | None:
    """Return the share in % of segments with payload at the link in the load, or None without the kernel's records."""
    again = timeline.events_in_load([EventKind.PACKET_RETRANSMITTED], "server")
    if again is None or timeline.events is None or not pc.any(among(timeline.events.table["source"], ["tcp"])).as_py():
        return None
    packets = timeline.packets_in_load([Kind.PACKET_DELIVERED, Kind.PACKET_DROPPED], "down")
    segments = pc.sum(pc.greater(packets["payload_bytes"], 0)).as_py()
    return 100.0 * again.num_rows / segments if segments else None


METRIC = Metric(
    name="retransmitted",
    label="Segments retransmitted",
    unit="%",
    better=Better.LOWER,
    needs=(EventKind.PACKET_RETRANSMITTED,),
    measure=measure,
    summary="Share of TCP's segments with payload that the server's kernel sent again during the load, from "
    "its own records (tracepoint tcp_retransmit_skb). Needs `[capture]` of traces.",
)
