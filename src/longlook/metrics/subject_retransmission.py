"""What TCP flows of the arm's first group sent again."""

from longlook.core.model import Better
from longlook.metrics import Metric
from longlook.timeline.competition import Competition
from longlook.timeline.timeline import Kind, Timeline


def measure(timeline: Timeline) -> float | None:
    """% of the subject's payload that reached the link a second time; None without a TCP flow."""
    competition = Competition.of(timeline)
    return None if competition is None else competition.repeated_pct(competition.subject)


METRIC = Metric(
    name="subject_retransmission",
    label="Retransmission of the subject",
    unit="%",
    better=Better.LOWER,
    needs=(Kind.PACKET_DELIVERED,),
    measure=measure,
    summary="Share of the payload of the arm's first group that reached the link and had done so before, mean of its "
    "TCP flows, while all flows competed. TCP alone: QUIC repeats data in packets with new numbers.",
)
