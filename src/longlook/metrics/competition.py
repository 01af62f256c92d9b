"""How flows that compete divide a link, and what each side of them meets there."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from longlook.core import OF_DELAYS, OF_LOSSES, OF_RATES, OF_SHARES, Better, Margin, Quantity
from longlook.metrics import Metric
from longlook.timeline import Competition, Kind, Numbers, Timeline, jain

_OfFlows = Callable[[Competition, Sequence[int]], float | None]
"""A value of some of the flows that compete, by their indexes."""


def _share_of_link(timeline: Timeline) -> float | None:
    """Return the sum over the first group's flows in % of the link's capacity."""
    competition = Competition.of(timeline)
    if competition is None or competition.rates_bps is None:
        return None
    capacity_bps = competition.capacity_bps()
    return 100 * float(np.sum(competition.rates_bps[competition.subject])) / capacity_bps if capacity_bps else None


def _share_of_used(timeline: Timeline) -> float | None:
    """Return the sum over the first group's flows in % of all competing flows' IP bytes."""
    competition = Competition.of(timeline)
    if competition is None or competition.rates_bps is None:
        return None
    rates = competition.rates_bps
    total = float(np.sum(rates[competition.competing]))
    return 100 * float(np.sum(rates[competition.subject])) / total if total > 0 else None


def _utilisation(timeline: Timeline) -> float | None:
    """Return the sum over all flows in % of the link's capacity."""
    competition = Competition.of(timeline)
    if competition is None or competition.rates_bps is None:
        return None
    capacity_bps = competition.capacity_bps()
    return 100 * float(np.sum(competition.rates_bps)) / capacity_bps if capacity_bps else None


def _jain_index(timeline: Timeline) -> float | None:
    """Return Jain's index of the competing flows' mean rates, from 1/n to 1."""
    competition = Competition.of(timeline)
    if competition is None or competition.rates_bps is None:
        return None
    return jain(competition.rates_bps[competition.competing])


DELTA = 0.2
"""The share by which a flow may be below an equal part."""

WINDOW_S, STEP_S = 5.0, 0.5
"""The length of the windows over which rates are averaged, and the time between the starts of two windows."""


def _convergence_time(timeline: Timeline) -> float | None:
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


def _mean_of(values: Numbers | None, flows: Sequence[int]) -> float | None:
    """Return the mean of these flows' values; None if there are no values or no flows, or if one has no value."""
    if values is None or not flows:
        return None
    mean = float(np.mean(values[flows]))
    return None if np.isnan(mean) else mean


def _fair_share_pct(competition: Competition, flows: Sequence[int]) -> float | None:
    mean_bps = _mean_of(competition.rates_bps, flows)
    fair_bps = None if mean_bps is None else competition.fair_bps()
    return 100 * mean_bps / fair_bps if mean_bps is not None and fair_bps else None


def _goodput_mbps(competition: Competition, flows: Sequence[int]) -> float | None:
    mean_bps = _mean_of(competition.goodputs_bps, flows)
    return None if mean_bps is None else mean_bps / 1e6


def _lost_pct(competition: Competition, flows: Sequence[int]) -> float | None:
    mean = _mean_of(competition.lost_shares(), flows)
    return None if mean is None else 100 * mean


def _of_flows(of: _OfFlows, competitors: bool) -> Callable[[Timeline], float | None]:
    """Return a measure that reads `of` for the flows of the arm's first group, or for the flows of all others."""

    def measure(timeline: Timeline) -> float | None:
        competition = Competition.of(timeline)
        if competition is None:
            return None
        return of(competition, competition.competitors if competitors else competition.subject)

    return measure


@dataclass(frozen=True)
class _Pair:
    """The metric of the arm's first group (`subject_NAME`) and its twin of the other groups (`competitor_NAME`).

    `{flows}` in `label` and in `summary` becomes the words for these flows. `subject` and `competitor` are sentences
    that are said of one of both alone.
    """

    name: str
    label: str
    unit: str
    better: Better
    of: _OfFlows
    summary: str
    margin: Margin
    quantity: Quantity = Quantity.RATIO
    needs: tuple[str, ...] = (Kind.PACKET_DELIVERED,)
    subject: str = ""
    competitor: str = ""

    def both(self) -> tuple[Metric, Metric]:
        """Return the metrics of the first group and of the other groups."""
        return (
            self._of("subject", "first group", "flows of the arm's first group", self.subject),
            self._of("competitor", "competing flows", "competing flows outside the arm's first group", self.competitor),
        )

    def _of(self, side: str, short: str, flows: str, further: str) -> Metric:
        return Metric(
            name=f"{side}_{self.name}",
            label=self.label.format(flows=short),
            unit=self.unit,
            better=self.better,
            quantity=self.quantity,
            margin=self.margin,
            needs=self.needs,
            measure=_of_flows(self.of, competitors=side == "competitor"),
            summary=f"{self.summary.format(flows=flows)} {further}".strip(),
        )


_WAITED = (
    "of the time that a packet to the clients of the {flows} waited in the link's queues until its own transmission "
    "began. Packets count while all flows competed."
)
_MEAN = "This is the mean over the {flows}, while all flows competed."

METRICS = (
    Metric(
        name="share_of_link",
        label="Share of the link",
        unit="%",
        better=Better.HIGHER,
        quantity=Quantity.SHARE,
        margin=OF_SHARES,
        needs=(Kind.PACKET_DELIVERED,),
        measure=_share_of_link,
        summary="IP bytes that left the link towards the clients of the arm's first group of flows, in % of what "
        "the link could carry while all flows competed. None if the link's rate is random.",
    ),
    Metric(
        name="share_of_used",
        label="Share of what was used",
        unit="%",
        better=Better.HIGHER,
        quantity=Quantity.SHARE,
        margin=OF_SHARES,
        needs=(Kind.PACKET_DELIVERED,),
        measure=_share_of_used,
        summary="IP bytes that left the link towards the clients of the arm's first group of flows, in % of the "
        "bytes of all competing flows, while all flows competed. Table 4 of IMC 2017 and Corbel et al. 2019 "
        "report such shares. More is better for the first group alone.",
    ),
    Metric(
        name="utilisation",
        label="Utilisation",
        unit="%",
        better=Better.HIGHER,
        quantity=Quantity.SHARE,
        margin=OF_SHARES,
        needs=(Kind.PACKET_DELIVERED,),
        measure=_utilisation,
        summary="IP bytes of all flows, including cross traffic, that left the link towards the clients, in % of "
        "what it could carry while all flows competed. None if the link's rate is random.",
    ),
    Metric(
        name="jain_index",
        label="Jain's index",
        unit="of 1",
        better=Better.HIGHER,
        quantity=Quantity.INDEX,
        margin=Margin(3.0, "rates that spread by 3 % more, the margin of rates"),
        needs=(Kind.PACKET_DELIVERED,),
        measure=_jain_index,
        summary="(Σx)² / (n·Σx²) of the competing flows' mean rates while all flows competed (Jain, Chiu and "
        "Hawe, DEC TR-301, 1984). It is 1 if all rates are equal and 1/n if one flow has everything.",
    ),
    Metric(
        name="convergence_time",
        label="Time to convergence",
        unit="s",
        better=Better.LOWER,
        needs=(Kind.PACKET_DELIVERED,),
        measure=_convergence_time,
        summary="Time from the last competing flow's start to the first 5 s in which each of n competing flows "
        "got at least (1-δ)/n of what all got, with δ = 0.2. This is the δ-fair convergence time of "
        "Bansal et al. (SIGCOMM 2001) for n flows. None if that never happened.",
    ),
    Metric(
        name="fair_share",
        label="Fair share reached",
        unit="%",
        better=Better.HIGHER,
        margin=OF_RATES,
        needs=(Kind.PACKET_DELIVERED,),
        measure=_of_flows(_fair_share_pct, competitors=False),
        summary="Mean rate of the flows of the arm's first group, in % of one flow's max-min fair share of the "
        "link (Philip et al., Prudentia, SIGCOMM 2024). A value of 100 is fair; below it, other flows had "
        "the rest or it stayed unused. None if the link's rate is random.",
    ),
    Metric(
        name="competitor_fair_share",
        label="Fair share of the competing flows",
        unit="%",
        better=Better.HIGHER,
        margin=OF_RATES,
        needs=(Kind.PACKET_DELIVERED,),
        measure=_of_flows(_fair_share_pct, competitors=True),
        summary="Mean rate of the competing flows outside the arm's first group, in % of one flow's max-min fair "
        "share of the link (Philip et al., Prudentia, SIGCOMM 2024). None if the link's rate is random.",
    ),
    *_Pair(
        name="goodput",
        label="Goodput of the {flows}",
        unit="Mbit/s",
        better=Better.HIGHER,
        margin=OF_RATES,
        of=_goodput_mbps,
        summary=f"New payload that left the link towards the clients. {_MEAN}",
        subject="Against an arm in which the first group is alone, the effect is the harm that the others do to it "
        "(Ware et al., HotNets 2019).",
        competitor="Between arms with different first groups, the effect is how much more harm one does than the other "
        "(Ware et al., HotNets 2019).",
    ).both(),
    *_Pair(
        name="loss",
        label="Loss of the {flows}",
        unit="%",
        better=Better.LOWER,
        quantity=Quantity.SHARE,
        margin=OF_LOSSES,
        of=_lost_pct,
        summary=f"Share of the packets towards the clients that the link dropped. {_MEAN}",
        needs=(Kind.PACKET_DROPPED,),
    ).both(),
    *_Pair(
        name="delay_median",
        label="Median queueing delay of the {flows}",
        unit="ms",
        better=Better.LOWER,
        quantity=Quantity.AMOUNT,
        margin=OF_DELAYS,
        of=lambda competition, flows: competition.waits_ms(flows, 0.5),
        summary=f"The median {_WAITED}",
    ).both(),
    *_Pair(
        name="delay_p99",
        label="99 % queueing delay of the {flows}",
        unit="ms",
        better=Better.LOWER,
        quantity=Quantity.AMOUNT,
        margin=OF_DELAYS,
        of=lambda competition, flows: competition.waits_ms(flows, 0.99),
        summary=f"The 99th percentile {_WAITED}",
    ).both(),
    *_Pair(
        name="retransmission",
        label="Retransmission of the {flows}",
        unit="%",
        better=Better.LOWER,
        quantity=Quantity.SHARE,
        margin=OF_LOSSES,
        of=Competition.repeated_pct,
        summary="Share of the payload of the {flows} that reached the link and had done so before. This is the mean "
        "over the TCP flows among them, while all flows competed. Only TCP flows count, as QUIC repeats data in "
        "packets with new numbers.",
    ).both(),
    *_Pair(
        name="ce_marked",
        label="Packets of the {flows} marked",
        unit="%",
        better=Better.LOWER,
        quantity=Quantity.SHARE,
        margin=OF_LOSSES,
        of=Competition.marked_pct,
        summary="Share of the packets delivered to the clients that a queue of the link marked with congestion "
        f"experienced (ECN). {_MEAN}",
    ).both(),
)
