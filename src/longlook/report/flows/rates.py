"""The data of figures of competing flows: the rate of every flow in one round, and of each group over all rounds."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from longlook.report.content import ReportContent
from longlook.timeline import BINS_S

Numbers = npt.NDArray[np.floating[Any]]

MOST_POINTS = 120
"""The number of points of a line. Longer series are averaged over wider bins, to keep the page small."""

LEAST_ROUNDS = 0.5
"""The share of the rounds that must last until a time for the band to reach it."""


@dataclass(frozen=True)
class Rates:
    """Rates in Mbit/s of one trial from the first start on, in bins of one width."""

    bin_s: float
    flows: Mapping[str, Numbers]
    link: Numbers | None  # what the link could carry

    @property
    def bins(self) -> int:
        """The number of bins."""
        return max((len(values) for values in self.flows.values()), default=0)

    @property
    def middles_s(self) -> Numbers:
        """The middle of each bin."""
        return (np.arange(self.bins) + 0.5) * self.bin_s

    def widened(self, bin_s: float) -> "Rates":
        """Return the same rates in wider bins; a rest that fills no bin is left out."""
        if bin_s <= self.bin_s:
            return self
        edges_s = np.arange(int(self.bins * self.bin_s / bin_s + 1e-6) + 1) * bin_s
        known_s = np.arange(self.bins + 1) * self.bin_s

        def wide(values: Numbers) -> Numbers:
            means: Numbers = (
                np.diff(np.interp(edges_s, known_s, np.append(0.0, np.cumsum(values) * self.bin_s))) / bin_s
            )
            return means

        flows = {name: wide(values) for name, values in self.flows.items()}
        return Rates(bin_s, flows, None if self.link is None else wide(self.link))


@dataclass(frozen=True)
class AxisScales:
    """The scales that all figures of a cell share. `rtt_s` is 0 if the study has no constant round trip time."""

    top_mbps: float
    height_px: int
    rtt_s: float


@dataclass(frozen=True)
class Band:
    """A flow of a group over the rounds: quartiles of the mean over the group's flows, in bins of one width."""

    group: str
    low: Numbers
    middle: Numbers
    high: Numbers


@dataclass(frozen=True)
class ArmFlows:
    """One arm in one cell. `groups` are in the arm's order: the first that is not cross traffic is under test."""

    arm: str
    cell_id: str
    groups: Mapping[str, Sequence[str]]  # group → its flows
    cross: Sequence[str]  # groups of cross traffic
    rounds: Mapping[int, Rates]
    means: Mapping[int, Mapping[str, float]]  # round → flow → Mbit/s while all flows competed

    @property
    def competing(self) -> list[str]:
        """The flows that compete, those under test first."""
        return [flow for group, flows in self.groups.items() if group not in self.cross for flow in flows]

    @property
    def subject(self) -> list[str]:
        """The flows of the first group of competing flows."""
        first = next((group for group in self.groups if group not in self.cross), None)
        return [] if first is None else list(self.groups[first])

    def shown(self, wanted: int | None) -> int:
        """Return the round to draw: the wanted one, or the first that this arm has."""
        return wanted if wanted is not None and wanted in self.rounds else min(self.rounds)

    def group_mean(self, group: str) -> float | None:
        """Return the median over rounds of the mean rate of a flow of the group."""
        means = [[self.means[number][flow] for flow in self.groups[group] if flow in self.means[number]]
                 for number in self.means]  # fmt: skip
        known = [float(np.mean(values)) for values in means if values]
        return float(np.median(known)) if known else None

    @cached_property
    def band_bin_s(self) -> float:
        """The widest bin that a round needs; all rounds are converted to it."""
        return max(thinned(rates).bin_s for rates in self.rounds.values())

    @cached_property
    def band_bins(self) -> int:
        """The number of bins of the bands: they end when too few rounds last."""
        lengths = sorted((rates.bins for rates in self._widened), reverse=True)
        return lengths[int(np.ceil(LEAST_ROUNDS * len(lengths))) - 1]

    def bands(self) -> Iterator[Band]:
        """Return quartiles over the rounds at each time."""
        for group, flows in self.groups.items():
            known = [[rates.flows[flow] for flow in flows if flow in rates.flows] for rates in self._widened]
            table = self._by_round([np.mean(series, axis=0) for series in known if series])
            if not np.isnan(table).all(axis=0).any():
                low, middle, high = np.nanquantile(table, [0.25, 0.5, 0.75], axis=0)
                yield Band(group, low, middle, high)

    def typical_link(self) -> Numbers | None:
        """Return the link's capacity at each time of the bands: the median over the rounds, if all of them have it."""
        links = [rates.link for rates in self._widened if rates.link is not None]
        if len(links) < len(self.rounds):
            return None
        middle: Numbers = np.nanmedian(self._by_round(links), axis=0)
        return middle

    @cached_property
    def _widened(self) -> list[Rates]:
        return [rates.widened(self.band_bin_s) for rates in self.rounds.values()]

    def _by_round(self, series: Sequence[Numbers]) -> Numbers:
        """Return rates of shape (rounds, bins), NaN after the end of a round."""
        table = np.full((len(series), self.band_bins), np.nan)
        for place, values in enumerate(series):
            table[place, : min(self.band_bins, len(values))] = values[: self.band_bins]
        return table


def thinned(rates: Rates) -> Rates:
    """Return rates in bins so wide that a line has at most MOST_POINTS."""
    return rates.widened(rates.bin_s * -(-rates.bins // MOST_POINTS))


def arm_flows(content: ReportContent) -> dict[str, list[ArmFlows]]:
    """Return every arm whose flows were recorded, by cell, in the order of the study's arms."""
    flows, rates = content.table("flows"), content.table("rates")
    if flows is None or rates is None:
        return {}
    order = {arm.name: place for place, arm in enumerate(content.study.arms)}
    series = dict(iter(rates.groupby(["cell_id", "arm"], sort=False)))
    found: dict[str, list[ArmFlows]] = {}
    for (cell_id, arm), rows in flows.groupby(["cell_id", "arm"], sort=False):
        if (cell_id, arm) in series:
            found.setdefault(str(cell_id), []).append(_arm(str(cell_id), str(arm), rows, series[cell_id, arm]))
    return {cell: sorted(arms, key=lambda each: order.get(each.arm, len(order))) for cell, arms in found.items()}


def _arm(cell_id: str, arm: str, flows: pd.DataFrame, rates: pd.DataFrame) -> ArmFlows:
    groups: dict[str, list[str]] = {}
    for group, flow in flows[["group", "flow"]].drop_duplicates().itertuples(index=False, name=None):
        groups.setdefault(str(group), []).append(str(flow))
    known = flows[flows["rate_mbps"].notna()]
    means: dict[int, dict[str, float]] = {}
    for number, flow, mbps in known[["round", "flow", "rate_mbps"]].itertuples(index=False, name=None):
        means.setdefault(int(number), {})[str(flow)] = float(mbps)
    return ArmFlows(
        arm=arm,
        cell_id=cell_id,
        groups=groups,
        cross=[str(name) for name in flows[flows["cross"].astype(bool)]["group"].unique()],
        rounds={int(str(number)): _rates(rows) for number, rows in rates.groupby("round", sort=True)},
        means=means,
    )


def _rates(rows: pd.DataFrame) -> Rates:
    table = rows.pivot(index="flow", columns="time_s", values="mbps").fillna(0.0)
    times_s = table.columns.to_numpy(np.float64)
    bin_s = float(times_s[1] - times_s[0]) if len(times_s) > 1 else BINS_S[0]
    link = rows.drop_duplicates("time_s").sort_values("time_s")["link_mbps"].to_numpy(np.float64)
    flows = {str(flow): table.loc[flow].to_numpy(np.float64) for flow in rows["flow"].unique()}
    return Rates(bin_s, flows, None if np.isnan(link).any() else link)
