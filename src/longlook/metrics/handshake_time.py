"""Handshake time."""

import pyarrow.compute as pc

from longlook.core.model import Better, Vantage
from longlook.metrics import Metric
from longlook.timeline.timeline import Kind, Timeline


def measure(timeline: Timeline) -> float | None:
    """Seconds from opening the first measured connection to its completed handshake, seen by the client."""
    started = timeline.select(Kind.CONNECTION_STARTED, Vantage.CLIENT).slice(0, 1)
    if started.num_rows == 0:
        return None
    done = timeline.select(Kind.HANDSHAKE_DONE, Vantage.CLIENT)
    done = done.filter(pc.equal(done["flow"].cast("string"), started["flow"][0].as_py()))
    if done.num_rows == 0:
        return None
    seconds = (done["time_ns"][0].as_py() - started["time_ns"][0].as_py()) / 1e9
    return float(seconds)


METRIC = Metric(
    name="handshake_time",
    label="Handshake time",
    unit="s",
    better=Better.LOWER,
    needs=(Kind.CONNECTION_STARTED, Kind.HANDSHAKE_DONE),
    measure=measure,
    summary="Client: opening the measured connection to the completed handshake, TCP's and TLS's or QUIC's. With 0-RTT "
    "still the handshake's completion, though requests leave before it.",
)
