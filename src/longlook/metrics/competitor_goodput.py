"""The goodput of a flow of the arm's other groups."""

import numpy as np

from longlook.core.model import Better
from longlook.metrics import Metric
from longlook.timeline.competition import Competition
from longlook.timeline.timeline import Kind, Timeline


def measure(timeline: Timeline) -> float | None:
    """Return the mean goodput of the other groups' flows in Mbit/s, or None without such flows."""
    competition = Competition.of(timeline)
    if competition is None or competition.goodputs_bps is None or not competition.competitors:
        return None
    return float(np.mean(competition.goodputs_bps[competition.competitors])) / 1e6


METRIC = Metric(
    name="competitor_goodput",
    label="Goodput of the competing flows",
    unit="Mbit/s",
    better=Better.HIGHER,
    needs=(Kind.PACKET_DELIVERED,),
    measure=measure,
    summary="New payload that left the link towards the clients of the competing flows outside the arm's "
    "first group: mean over these flows, while all flows competed. Between arms with different first "
    "groups, the effect is how much more harm one does than the other (Ware et al., HotNets 2019).",
)
