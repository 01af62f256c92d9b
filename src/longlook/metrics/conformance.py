"""The similarity of the first groups of an arm and of a reference arm."""

from longlook.core import Better, Margin, Quantity
from longlook.metrics import Metric
from longlook.timeline import Kind, Timeline, compare


def measure(_timeline: Timeline) -> float | None:
    """Return None: conformance compares two trials, see `compare`."""
    return None


METRIC = Metric(
    name="conformance",
    label="Conformance",
    unit="%",
    better=Better.HIGHER,
    quantity=Quantity.SHARE,
    margin=Margin(5.0, "five points in a hundred, as an envelope of few round trips moves by that"),
    needs=(Kind.PACKET_DELIVERED,),
    measure=measure,
    compare=compare,
    least_of_reference=50.0,
    summary="Share of the points of throughput and delay, one every ten round trips, that lie in the other's "
    "performance envelope (Mishra, Lim and Leong, IMC 2022). Compared are the first groups of "
    "flows of the arm and of the arm `analysis.reference` in the same round. The reference itself is "
    "compared with its own next round, which shows how much conformance noise allows. If that is less "
    "than half in the median, no verdict is given: the flows are too short, or too different.",
)
