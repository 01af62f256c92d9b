"""The equality of the competing flows' rates."""

from longlook.core.model import Better
from longlook.metrics import Metric
from longlook.timeline.competition import Competition, jain
from longlook.timeline.timeline import Kind, Timeline


def measure(timeline: Timeline) -> float | None:
    """Return Jain's index of the competing flows' mean rates, from 1/n to 1."""
    competition = Competition.of(timeline)
    if competition is None or competition.rates_bps is None:
        return None
    return jain(competition.rates_bps[competition.competing])


METRIC = Metric(
    name="jain_index",
    label="Jain's index",
    unit="of 1",
    better=Better.HIGHER,
    needs=(Kind.PACKET_DELIVERED,),
    measure=measure,
    summary="(Σx)² / (n·Σx²) of the competing flows' mean rates while all flows competed (Jain, Chiu and "
    "Hawe, DEC TR-301, 1984). It is 1 if all rates are equal and 1/n if one flow has everything.",
)
