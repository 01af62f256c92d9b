"""How much of its max-min fair share a flow of the other groups got."""

import numpy as np

from longlook.core.model import Better
from longlook.metrics import Metric
from longlook.timeline.competition import Competition
from longlook.timeline.timeline import Kind, Timeline


def measure(timeline: Timeline) -> float | None:
    """% of the max-min fair share that the competitors' flows got on average; None without any."""
    competition = Competition.of(timeline)
    if competition is None or competition.rates_bps is None or not competition.competitors:
        return None
    fair_bps = competition.fair_bps()
    return 100 * float(np.mean(competition.rates_bps[competition.competitors])) / fair_bps if fair_bps else None


METRIC = Metric(
    name="competitor_fair_share",
    label="Fair share left to competitors",
    unit="%",
    better=Better.HIGHER,
    needs=(Kind.PACKET_DELIVERED,),
    measure=measure,
    summary="Mean rate of the competing flows other than the arm's first group, in % of one flow's max-min fair "
    "share of the link (Philip et al., Prudentia, SIGCOMM 2024). None where the link's rate is random.",
)
