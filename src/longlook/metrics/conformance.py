"""How far the arm's first group behaves as a reference arm's does."""

from longlook.core.model import Better
from longlook.metrics import Metric
from longlook.timeline.envelope import compare
from longlook.timeline.timeline import Kind, Timeline


def measure(_timeline: Timeline) -> float | None:
    """Nothing: one trial conforms to no other."""
    return None


METRIC = Metric(
    name="conformance",
    label="Conformance",
    unit="%",
    better=Better.HIGHER,
    needs=(Kind.PACKET_DELIVERED,),
    measure=measure,
    compare=compare,
    summary="Share of the points of throughput and delay, every ten round trips, that lie in the other's performance "
    "envelope, of this arm's first group of flows and that of the arm `analysis.reference` in the same round (Mishra, "
    "Lim and Leong, IMC 2022). Of the reference itself: against its own next round, which is as much as noise allows.",
)
