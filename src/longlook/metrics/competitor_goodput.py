"""What each flow of the other groups got."""

import numpy as np

from longlook.core.model import Better
from longlook.metrics import Metric
from longlook.timeline.competition import Competition
from longlook.timeline.timeline import Kind, Timeline


def measure(timeline: Timeline) -> float | None:
    """Mbit/s of new payload, the mean of the competitors' flows; None without any."""
    competition = Competition.of(timeline)
    if competition is None or competition.goodputs_bps is None or not competition.competitors:
        return None
    return float(np.mean(competition.goodputs_bps[competition.competitors])) / 1e6


METRIC = Metric(
    name="competitor_goodput",
    label="Goodput of the competitors",
    unit="Mbit/s",
    better=Better.HIGHER,
    needs=(Kind.PACKET_DELIVERED,),
    measure=measure,
    summary="New payload that left the link towards the clients of all competing flows but the arm's first group, "
    "mean of their flows, while all were at it. Between arms with different subjects, the effect is how "
    "much more harm one does than the other (Ware et al., HotNets 2019).",
)
