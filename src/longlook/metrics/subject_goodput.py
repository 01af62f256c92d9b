"""The goodput of a flow of the arm's first group."""

import numpy as np

from longlook.core.model import Better
from longlook.metrics import Metric
from longlook.timeline.competition import Competition
from longlook.timeline.timeline import Kind, Timeline


def measure(timeline: Timeline) -> float | None:
    """Return the mean goodput of the first group's flows in Mbit/s."""
    competition = Competition.of(timeline)
    if competition is None or competition.goodputs_bps is None:
        return None
    return float(np.mean(competition.goodputs_bps[competition.subject])) / 1e6


METRIC = Metric(
    name="subject_goodput",
    label="Goodput of the first group",
    unit="Mbit/s",
    better=Better.HIGHER,
    needs=(Kind.PACKET_DELIVERED,),
    measure=measure,
    summary="New payload that left the link towards the clients of the arm's first group of flows: mean over "
    "these flows, while all flows competed. Against an arm in which that group is alone, the effect "
    "is the harm that the others do to it (Ware et al., HotNets 2019).",
)
