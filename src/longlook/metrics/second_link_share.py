"""How much of what the client got came over the second link."""

import pyarrow as pa
import pyarrow.compute as pc

from longlook.core.model import Better
from longlook.metrics import Metric
from longlook.timeline.normalise.trial import OVER_SECOND
from longlook.timeline.timeline import Kind, Timeline


def measure(timeline: Timeline) -> float | None:
    """Return the share of bytes in percent; None where nothing was delivered to the client in the load."""
    packets = timeline.packets_in_load([Kind.PACKET_DELIVERED], "down")
    total = pc.sum(packets["size_bytes"]).as_py()
    if not total:
        return None
    details = packets["detail"].cast(pa.string())
    second = packets.filter(pc.fill_null(pc.match_substring(details, OVER_SECOND), False))
    return 100.0 * (pc.sum(second["size_bytes"]).as_py() or 0) / float(total)


METRIC = Metric(
    name="second_link_share",
    label="Share over the second link",
    unit="%",
    better=Better.HIGHER,
    needs=(Kind.PACKET_DELIVERED, Kind.REQUEST_SENT, Kind.PAGE_STARTED),
    measure=measure,
    summary="Of the bytes of IP packets that were delivered to the client in the load, those that came over the second "
    "link. 0 where the path has one link.",
)
"""Share over the second link."""
