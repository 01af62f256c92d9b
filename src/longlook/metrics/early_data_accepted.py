"""Whether the server took the client's early data."""

import pyarrow.compute as pc

from longlook.core.model import Better, ConnectionState, Vantage
from longlook.metrics import Metric
from longlook.timeline.timeline import Kind, Timeline


def measure(timeline: Timeline) -> float | None:
    """Return the share of the client's QUIC connections with accepted early data in %; None where no end knows one."""
    done = timeline.select(Kind.HANDSHAKE_DONE)
    done = done.filter(pc.starts_with(done["flow"].cast("string"), "udp "))
    states: dict[str, dict[str, str | None]] = {Vantage.CLIENT: {}, Vantage.SERVER: {}}
    for row in done.select(["flow", "vantage", "name"]).to_pylist():
        states[row["vantage"]][row["flow"]] = row["name"]
    known = [states[Vantage.SERVER].get(flow) or state for flow, state in states[Vantage.CLIENT].items()]
    if not known or None in known:
        return None
    return 100.0 * sum(state == ConnectionState.ZERO_RTT for state in known) / len(known)


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
