"""Goodput at the link, in the direction of the answers."""

from longlook.core.model import Better
from longlook.metrics import Metric
from longlook.timeline.payload import new_payload_bytes
from longlook.timeline.timeline import Kind, Timeline


def measure(timeline: Timeline) -> float | None:
    """Return the new payload that left the link towards the client during the load, in Mbit/s."""
    window = timeline.load_window_ns()
    if window is None or window[1] <= window[0]:
        return None
    packets = timeline.packets_in_load([Kind.PACKET_DELIVERED], "down")
    if packets.num_rows == 0:
        return None
    return float(new_payload_bytes(packets).sum() * 8 * 1e3 / (window[1] - window[0]))


METRIC = Metric(
    name="goodput",
    label="Goodput",
    unit="Mbit/s",
    better=Better.HIGHER,
    needs=(Kind.PACKET_DELIVERED,),
    measure=measure,
    summary="Payload that left the link towards the client during the load, divided by the load's time. TCP "
    "counts each byte once, by its sequence number. UDP counts whole, as QUIC's retransmissions look "
    "like any other packet.",
)
