"""Losses as the server's sender saw them."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow.compute as pc

from longlook.core import OF_LOSSES, OF_SHARES, Better, Quantity, Vantage
from longlook.metrics import Metric
from longlook.timeline import EventKind, Events, Timeline, among


def _declared_lost(timeline: Timeline) -> float | None:
    """Return the share in % of the packets that the server sent in the load, or None without its QUIC trace.

    A row without a packet number counts for as many as its value says.
    """
    sent = timeline.events_in_load([EventKind.PACKET_SENT], timeline.sender)
    lost = timeline.events_in_load([EventKind.PACKET_LOST], timeline.sender)
    if sent is None or lost is None or sent.num_rows == 0:
        return None
    counted = np.nan_to_num(lost["value"].to_numpy(), nan=1.0)
    numbered = lost["packet_number"].is_valid().to_numpy()
    return float(100.0 * np.where(numbered, 1.0, counted).sum() / sent.num_rows)


def _spurious_losses(timeline: Timeline) -> float | None:
    """Return the share in % of the packets declared lost in the load, or None without a trace or a declared loss.

    The kernel's TCP does not record which segments it takes for lost. `normalise/spurious.py` counts them for whole
    connections, as segments that the link saw again, and `losses` of the metadata holds the counts.
    """
    lost = timeline.events_in_load([EventKind.PACKET_LOST], timeline.sender)
    spurious = timeline.events_in_load([EventKind.PACKET_SPURIOUS], timeline.sender)
    if lost is None or spurious is None or timeline.events is None:
        return None
    if pc.any(among(lost["source"], ["tcp"])).as_py():
        counts = [
            each.get("losses", {})
            for each in _kernels_connections(timeline.events, timeline.sender)
            if not each["priming"]
        ]
        declared, found = (sum(each.get(name, 0) for each in counts) for name in ("declared", "spurious"))
    else:
        declared, found = pc.sum(pc.is_valid(lost["packet_number"])).as_py() or 0, spurious.num_rows
    return 100.0 * found / declared if declared else None


def _kernels_connections(events: Events, sender: Vantage) -> Sequence[Mapping[str, Any]]:
    connections: Sequence[Mapping[str, Any]] = (
        events.metadata.get("sources", {}).get(f"tcp/{sender}.tcptrace", {}).get("connections", ())
    )
    return connections


METRICS = (
    Metric(
        name="declared_lost",
        label="Packets declared lost",
        unit="%",
        better=Better.LOWER,
        quantity=Quantity.SHARE,
        margin=OF_LOSSES,
        needs=(EventKind.PACKET_SENT, EventKind.PACKET_LOST),
        measure=_declared_lost,
        summary="Share of the packets sent by the server during the load that its QUIC stack declared lost (RFC "
        "9002, 6.1), from its own log. Needs `[capture]` of traces.",
    ),
    Metric(
        name="spurious_losses",
        label="Spurious losses",
        unit="%",
        better=Better.LOWER,
        quantity=Quantity.SHARE,
        margin=OF_SHARES,
        needs=(EventKind.PACKET_LOST, EventKind.PACKET_SPURIOUS),
        measure=_spurious_losses,
        summary="Share of the packets declared lost by the server during the load (RFC 9002, 6.1) that were "
        "delivered after all, by the link's log. For the kernel's TCP it is the share of the segments "
        "sent again as lost, over the whole connection. Reordering raises it (IMC 2017, section 5.2, fig. "
        "10). Needs `[capture]` of traces.",
    ),
)
