"""The part of the link's capacity that all flows used together."""

import numpy as np

from longlook.core.model import Better
from longlook.metrics import Metric
from longlook.timeline.competition import Competition
from longlook.timeline.timeline import Kind, Timeline


def measure(timeline: Timeline) -> float | None:
    """Return the sum over all flows in % of the link's capacity."""
    competition = Competition.of(timeline)
    if competition is None or competition.rates_bps is None:
        return None
    capacity_bps = competition.capacity_bps()
    return 100 * float(np.sum(competition.rates_bps)) / capacity_bps if capacity_bps else None


METRIC = Metric(
    name="utilisation",
    label="Utilisation",
    unit="%",
    better=Better.HIGHER,
    needs=(Kind.PACKET_DELIVERED,),
    measure=measure,
    summary="IP bytes of all flows, including cross traffic, that left the link towards the clients, in % of "
    "what it could carry while all flows competed. None if the link's rate is random.",
)
