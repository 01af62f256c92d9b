"""When a client that chooses between QUIC and TCP can use TCP."""

from longlook.core.model import Better, Vantage
from longlook.metrics import Metric
from longlook.timeline.timeline import Kind, Timeline


def measure(timeline: Timeline) -> float | None:
    """Return seconds from the first request to the handshake over TCP of the first connection that carried an object.

    None where QUIC carried everything, or where no such handshake was reported.
    """
    window = timeline.load_window_ns()
    flows = timeline.select(Kind.OBJECT_DONE)["flow"].to_pylist()
    carried = {flow for flow in flows if flow is not None and flow.startswith("tcp ")}
    secure = timeline.select(Kind.HANDSHAKE_DONE, Vantage.CLIENT)
    times = [row["time_ns"] for row in secure.select(["time_ns", "flow"]).to_pylist() if row["flow"] in carried]
    return None if window is None or not times else (min(times) - window[0]) / 1e9


METRIC = Metric(
    name="fallback_time",
    label="Time to fallback",
    unit="s",
    better=Better.LOWER,
    needs=(Kind.REQUEST_SENT, Kind.PAGE_STARTED, Kind.HANDSHAKE_DONE, Kind.OBJECT_DONE),
    measure=measure,
    summary="Time from the load's first request to the completed TLS handshake of the first connection over TCP that "
    "carried an object. None where QUIC carried everything. "
    "With HTTP/2 alone it is the handshake's time.",
)
"""Time to fallback."""
