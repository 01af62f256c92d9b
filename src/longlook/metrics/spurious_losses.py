"""Packets that the server took for lost although the link delivered them."""

from collections.abc import Mapping, Sequence
from typing import Any

import pyarrow.compute as pc

from longlook.core.model import Better
from longlook.metrics import Metric
from longlook.timeline.events import EventKind, Events, among
from longlook.timeline.timeline import Timeline


def measure(timeline: Timeline) -> float | None:
    """Share in % of the packets declared lost in the load; None without the server's trace, or where none was.

    The kernel's TCP does not say which segments it takes for lost. They were told by the link's log, for whole
    connections (`losses` of the metadata), so of TCP the share is of those: segments that the link saw again.
    """
    lost = timeline.events_in_load([EventKind.PACKET_LOST], "server")
    spurious = timeline.events_in_load([EventKind.PACKET_SPURIOUS], "server")
    if lost is None or spurious is None or timeline.events is None:
        return None
    if pc.any(among(lost["source"], ["tcp"])).as_py():
        counts = [each.get("losses", {}) for each in _kernels_connections(timeline.events) if not each["priming"]]
        declared, found = (sum(each.get(name, 0) for each in counts) for name in ("declared", "spurious"))
    else:
        declared, found = pc.sum(pc.is_valid(lost["packet_number"])).as_py() or 0, spurious.num_rows
    return 100.0 * found / declared if declared else None


def _kernels_connections(events: Events) -> Sequence[Mapping[str, Any]]:
    connections: Sequence[Mapping[str, Any]] = (
        events.metadata.get("sources", {}).get("tcp/server.tcptrace", {}).get("connections", ())
    )
    return connections


METRIC = Metric(
    name="spurious_losses",
    label="Losses that were none",
    unit="%",
    better=Better.LOWER,
    needs=(EventKind.PACKET_LOST, EventKind.PACKET_SPURIOUS),
    measure=measure,
    summary="Share of the packets that the server declared lost in the load although they were delivered, by the "
    "link's log; of the kernel's TCP of the segments that it sent again because it took them for lost, over the whole "
    "connection (declared in RFC 9002, 6.1; what reordering does to it: IMC 2017, section 5.2, fig. 10). Needs "
    "`[capture]` of traces.",
)
