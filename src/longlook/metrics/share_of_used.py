"""The part of the competing flows' bytes that went to the arm's first group."""

import numpy as np

from longlook.core.model import Better
from longlook.metrics import Metric
from longlook.timeline.competition import Competition
from longlook.timeline.timeline import Kind, Timeline


def measure(timeline: Timeline) -> float | None:
    """Return the sum over the first group's flows in % of all competing flows' IP bytes."""
    competition = Competition.of(timeline)
    if competition is None or competition.rates_bps is None:
        return None
    rates = competition.rates_bps
    total = float(np.sum(rates[competition.competing]))
    return 100 * float(np.sum(rates[competition.subject])) / total if total > 0 else None


METRIC = Metric(
    name="share_of_used",
    label="Share of what was used",
    unit="%",
    better=Better.HIGHER,
    needs=(Kind.PACKET_DELIVERED,),
    measure=measure,
    summary="IP bytes that left the link towards the clients of the arm's first group of flows, in % of those "
    "of all competing flows, while all flows competed. Table 4 of IMC 2017 and Corbel et al. 2019 "
    "report such shares. More is better for the first group alone.",
)
