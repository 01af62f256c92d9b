"""Packets that the server declared lost."""

import numpy as np

from longlook.core.model import Better
from longlook.metrics import Metric
from longlook.timeline.events import EventKind
from longlook.timeline.timeline import Timeline


def measure(timeline: Timeline) -> float | None:
    """Return the share in % of the packets that the server sent in the load, or None without its QUIC trace.

    A row without a packet number counts for as many as its value says.
    """
    sent = timeline.events_in_load([EventKind.PACKET_SENT], "server")
    lost = timeline.events_in_load([EventKind.PACKET_LOST], "server")
    if sent is None or lost is None or sent.num_rows == 0:
        return None
    counted = np.nan_to_num(lost["value"].to_numpy(), nan=1.0)
    numbered = lost["packet_number"].is_valid().to_numpy()
    return float(100.0 * np.where(numbered, 1.0, counted).sum() / sent.num_rows)


METRIC = Metric(
    name="declared_lost",
    label="Packets declared lost",
    unit="%",
    better=Better.LOWER,
    needs=(EventKind.PACKET_SENT, EventKind.PACKET_LOST),
    measure=measure,
    summary="Share of the packets sent by the server during the load that its QUIC stack declared lost (RFC "
    "9002, 6.1), from its own log. Needs `[capture]` of traces.",
)
