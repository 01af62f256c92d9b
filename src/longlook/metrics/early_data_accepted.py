"""Whether the server took the client's early data."""

import pyarrow.compute as pc

from longlook.core.model import Better, ConnectionState, Vantage
from longlook.metrics import Metric
from longlook.timeline.timeline import Kind, Timeline


def measure(timeline: Timeline) -> float | None:
    """Return the share of the measured QUIC connections with accepted early data in %; None where no end knows."""
    done = timeline.select(Kind.HANDSHAKE_DONE)
    done = done.filter(pc.starts_with(done["flow"].cast("string"), "udp "))
    found: dict[str, bool] = {}
    for row in done.select(["flow", "vantage", "name"]).to_pylist():
        if row["name"] is not None and (row["flow"] not in found or row["vantage"] == Vantage.SERVER):
            found[row["flow"]] = row["name"] == ConnectionState.ZERO_RTT
    return 100.0 * sum(found.values()) / len(found) if found else None


METRIC = Metric(
    name="early_data_accepted",
    label="Early data accepted",
    unit="%",
    better=Better.HIGHER,
    needs=(Kind.HANDSHAKE_DONE,),
    measure=measure,
    summary="Share of the load's QUIC connections whose early data (0-RTT) the server took, by the server's own word "
    "where it has one, else by the client's: 0 or 100 for a load with one connection. "
    "Its mean over rounds is the rate of successful 0-RTT handshakes. "
    "None over TCP, and of programs that do not report the state of their connections.",
)
