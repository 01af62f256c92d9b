"""How equal the contestants' rates are."""

from longlook.core.model import Better
from longlook.metrics import Metric
from longlook.timeline.competition import Contest, jain
from longlook.timeline.timeline import Kind, Timeline


def measure(timeline: Timeline) -> float | None:
    """Jain's index of the contestants' mean rates, from 1/n to 1."""
    contest = Contest.of(timeline)
    if contest is None or contest.rates_bps is None:
        return None
    return jain(contest.rates_bps[contest.contestants])


METRIC = Metric(
    name="jain_index",
    label="Jain's index",
    unit="of 1",
    better=Better.HIGHER,
    needs=(Kind.PACKET_DELIVERED,),
    measure=measure,
    summary="(Σx)² / (n·Σx²) of the contestants' mean rates while all were at it: 1 where all are equal, 1/n "
    "where one has everything (Jain, Chiu and Hawe, DEC TR-301, 1984).",
)
