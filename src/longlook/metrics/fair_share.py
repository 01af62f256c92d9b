"""The part of its max-min fair share that a flow of the arm's first group reached."""

import numpy as np

from longlook.core.model import Better
from longlook.metrics import Metric
from longlook.timeline.competition import Competition
from longlook.timeline.timeline import Kind, Timeline


def measure(timeline: Timeline) -> float | None:
    """Return the mean over the first group's flows in % of the max-min fair share."""
    competition = Competition.of(timeline)
    if competition is None or competition.rates_bps is None:
        return None
    fair_bps = competition.fair_bps()
    return 100 * float(np.mean(competition.rates_bps[competition.subject])) / fair_bps if fair_bps else None


METRIC = Metric(
    name="fair_share",
    label="Fair share reached",
    unit="%",
    better=Better.HIGHER,
    needs=(Kind.PACKET_DELIVERED,),
    measure=measure,
    summary="Mean rate of the flows of the arm's first group, in % of one flow's max-min fair share of the "
    "link (Philip et al., Prudentia, SIGCOMM 2024). A value of 100 is fair; below it, other flows had "
    "the rest or it stayed unused. None if the link's rate is random.",
)
