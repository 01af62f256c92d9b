"""Packets of the other groups that the link marked."""

from longlook.core.model import Better
from longlook.metrics import Metric
from longlook.timeline.competition import Competition
from longlook.timeline.timeline import Kind, Timeline


def measure(timeline: Timeline) -> float | None:
    """Return the mean over the flows of the share of their packets that the link marked, in %."""
    competition = Competition.of(timeline)
    return None if competition is None else competition.marked_pct(competition.competitors)


METRIC = Metric(
    name="competitor_ce_marked",
    label="Packets of the competing flows marked",
    unit="%",
    better=Better.LOWER,
    needs=(Kind.PACKET_DELIVERED,),
    measure=measure,
    summary="Share of the packets delivered to the clients of the other groups that a queue of the link marked with "
    "congestion experienced (ECN): mean over these flows, while all competed.",
)
