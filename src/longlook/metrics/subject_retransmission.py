"""The retransmissions of TCP flows of the arm's first group."""

from longlook.core.model import Better
from longlook.metrics import Metric
from longlook.timeline.competition import Competition
from longlook.timeline.timeline import Kind, Timeline


def measure(timeline: Timeline) -> float | None:
    """Return the share of the first group's payload that reached the link again, in %, or None without a TCP flow."""
    competition = Competition.of(timeline)
    return None if competition is None else competition.repeated_pct(competition.subject)


METRIC = Metric(
    name="subject_retransmission",
    label="Retransmission of the first group",
    unit="%",
    better=Better.LOWER,
    needs=(Kind.PACKET_DELIVERED,),
    measure=measure,
    summary="Share of the payload of the arm's first group that reached the link and had done so before: mean "
    "over its TCP flows, while all flows competed. Only TCP flows count, as QUIC repeats data in "
    "packets with new numbers.",
)
