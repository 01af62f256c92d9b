"""The 99th percentile of the queueing delay of the other groups."""

from longlook.core.model import Better
from longlook.metrics import Metric
from longlook.timeline.competition import Competition
from longlook.timeline.timeline import Kind, Timeline


def measure(timeline: Timeline) -> float | None:
    """Return the 99th percentile in ms of the waits of these flows' packets, or None without a bottleneck."""
    competition = Competition.of(timeline)
    return None if competition is None else competition.waits_ms(competition.competitors, 0.99)


METRIC = Metric(
    name="competitor_delay_p99",
    label="99 % queueing delay of the competing flows",
    unit="ms",
    better=Better.LOWER,
    needs=(Kind.PACKET_DELIVERED,),
    measure=measure,
    summary="The 99th percentile, over all packets to the clients of the other groups, of the time that a packet "
    "waited in the link's queues until its own transmission began, while all flows competed.",
)
