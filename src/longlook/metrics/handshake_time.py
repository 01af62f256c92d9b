"""Handshake time."""

import pyarrow.compute as pc

from longlook.core.model import Better, Vantage
from longlook.metrics import Metric
from longlook.timeline.timeline import Kind, Timeline


def measure(timeline: Timeline) -> float | None:
    """Return seconds from opening the first measured connection to its completed handshake, seen by the client."""
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
    summary="Time at the client from opening the measured connection to its completed handshake: of TCP and "
    "TLS, or of QUIC. With 0-RTT it still ends with the completed handshake, though requests leave "
    "before.",
)
