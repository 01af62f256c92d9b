"""The part of its max-min fair share that a flow of the arm's other groups reached."""

import numpy as np

from longlook.core.model import Better
from longlook.metrics import Metric
from longlook.timeline.competition import Competition
from longlook.timeline.timeline import Kind, Timeline


def measure(timeline: Timeline) -> float | None:
    """Return the mean over the other groups' flows in % of the max-min fair share, or None without such flows."""
    competition = Competition.of(timeline)
    if competition is None or competition.rates_bps is None or not competition.competitors:
        return None
    fair_bps = competition.fair_bps()
    return 100 * float(np.mean(competition.rates_bps[competition.competitors])) / fair_bps if fair_bps else None


METRIC = Metric(
    name="competitor_fair_share",
    label="Fair share of the competing flows",
    unit="%",
    better=Better.HIGHER,
    needs=(Kind.PACKET_DELIVERED,),
    measure=measure,
    summary="Mean rate of the competing flows outside the arm's first group, in % of one flow's max-min fair "
    "share of the link (Philip et al., Prudentia, SIGCOMM 2024). None if the link's rate is random.",
)
