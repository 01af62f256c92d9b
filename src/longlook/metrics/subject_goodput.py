"""What each flow of the arm's first group got."""

import numpy as np

from longlook.core.model import Better
from longlook.metrics import Metric
from longlook.timeline.competition import Competition
from longlook.timeline.timeline import Kind, Timeline


def measure(timeline: Timeline) -> float | None:
    """Mbit/s of new payload, the mean of the subject's flows."""
    competition = Competition.of(timeline)
    if competition is None or competition.goodputs_bps is None:
        return None
    return float(np.mean(competition.goodputs_bps[competition.subject])) / 1e6


METRIC = Metric(
    name="subject_goodput",
    label="Goodput of the subject",
    unit="Mbit/s",
    better=Better.HIGHER,
    needs=(Kind.PACKET_DELIVERED,),
    measure=measure,
    summary="New payload that left the link towards the clients of the arm's first group of flows, mean of its "
    "flows, while all flows competed. Against an arm where it is alone, the effect is the harm "
    "that the others do to it (Ware et al., HotNets 2019).",
)
