"""The loss of the arm's other groups at the link."""

import numpy as np

from longlook.core.model import Better
from longlook.metrics import Metric
from longlook.timeline.competition import Competition
from longlook.timeline.timeline import Kind, Timeline


def measure(timeline: Timeline) -> float | None:
    """Return the mean share of the other groups' packets that the link dropped, in %, or None without such flows."""
    competition = Competition.of(timeline)
    if competition is None or (shares := competition.lost_shares()) is None or not competition.competitors:
        return None
    mean = float(np.mean(shares[competition.competitors]))
    return None if np.isnan(mean) else 100 * mean


METRIC = Metric(
    name="competitor_loss",
    label="Loss of the competing flows",
    unit="%",
    better=Better.LOWER,
    needs=(Kind.PACKET_DROPPED,),
    measure=measure,
    summary="Share of the packets towards the clients of the competing flows outside the arm's first group "
    "that the link dropped: mean over these flows, while all flows competed.",
)
