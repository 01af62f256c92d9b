"""The loss of the arm's first group at the link."""

import numpy as np

from longlook.core.model import Better
from longlook.metrics import Metric
from longlook.timeline.competition import Competition
from longlook.timeline.timeline import Kind, Timeline


def measure(timeline: Timeline) -> float | None:
    """Return the mean share of the first group's packets that the link dropped, in %."""
    competition = Competition.of(timeline)
    if competition is None or (shares := competition.lost_shares()) is None:
        return None
    mean = float(np.mean(shares[competition.subject]))
    return None if np.isnan(mean) else 100 * mean


METRIC = Metric(
    name="subject_loss",
    label="Loss of the first group",
    unit="%",
    better=Better.LOWER,
    needs=(Kind.PACKET_DROPPED,),
    measure=measure,
    summary="Share of the packets towards the clients of the arm's first group of flows that the link "
    "dropped: mean over these flows, while all flows competed.",
)
