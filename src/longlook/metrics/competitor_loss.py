"""What the link lost of the other groups."""

import numpy as np

from longlook.core.model import Better
from longlook.metrics import Metric
from longlook.timeline.competition import Competition
from longlook.timeline.timeline import Kind, Timeline


def measure(timeline: Timeline) -> float | None:
    """% of the competitors' packets that the link dropped; None without any."""
    competition = Competition.of(timeline)
    if competition is None or (shares := competition.lost_shares()) is None or not competition.competitors:
        return None
    mean = float(np.mean(shares[competition.competitors]))
    return None if np.isnan(mean) else 100 * mean


METRIC = Metric(
    name="competitor_loss",
    label="Loss of the competitors",
    unit="%",
    better=Better.LOWER,
    needs=(Kind.PACKET_DROPPED,),
    measure=measure,
    summary="Share of packets towards the clients of all competing flows but the arm's first group that the link "
    "dropped, mean of their flows, while all were at it.",
)
