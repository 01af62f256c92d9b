"""The time until the competing flows had equal parts."""

import numpy as np

from longlook.core.model import Better
from longlook.metrics import Metric
from longlook.timeline.competition import Competition
from longlook.timeline.timeline import Kind, Timeline

DELTA = 0.2
"""The share by which a flow may be below an equal part."""
WINDOW_S, STEP_S = 5.0, 0.5
"""The length of the windows over which rates are averaged, and the time between the starts of two windows."""


def measure(timeline: Timeline) -> float | None:
    """Return seconds from the last flow's start until every flow has (1-δ)/n of the sum, or None if never."""
    competition = Competition.of(timeline)
    if competition is None or competition.window_ns is None or len(competition.competing) < 2:
        return None
    begin_ns = max(competition.flows[index].began_ns for index in competition.competing)
    rates = competition.series_bps(STEP_S, begin_ns, competition.window_ns[1])[competition.competing]
    width = round(WINDOW_S / STEP_S)
    if rates.shape[1] < width:
        return None
    total = np.cumsum(np.pad(rates, ((0, 0), (1, 0))), axis=1)
    means = total[:, width:] - total[:, :-width]
    fair = means.min(axis=0) >= (1 - DELTA) / len(rates) * means.sum(axis=0)
    found = np.flatnonzero(fair & (means.sum(axis=0) > 0))
    return float(found[0] * STEP_S) if len(found) else None


METRIC = Metric(
    name="convergence_time",
    label="Time to convergence",
    unit="s",
    better=Better.LOWER,
    needs=(Kind.PACKET_DELIVERED,),
    measure=measure,
    summary="Time from the last competing flow's start to the first 5 s in which each of n competing flows "
    "got at least (1-δ)/n of what all got, with δ = 0.2. This is the δ-fair convergence time of "
    "Bansal et al. (SIGCOMM 2001) for n flows. None if that never happened.",
)
