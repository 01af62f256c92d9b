"""Patterns of losses with their values → which losses make the difference between two arms. Pure.

The value of an arm is the mean of its strata, each times its probability (`stats.strata`). So the advantage of one arm
over another is a sum over strata: probability × (mean of the contender − mean of the baseline). Means and differences
are of logarithms if all values of the metric in the cell are positive, else of the values.
"""

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import pandas as pd

from longlook.analysis.integrated import StatedArm
from longlook.analysis.stats.cells import FAILED
from longlook.analysis.stats.procedures import effect_pct
from longlook.analysis.stats.scales import by_ratios
from longlook.analysis.stats.strata import NONE, ONE, STRATA, Packet
from longlook.analysis.strata_plan import CellStrata, read_packet
from longlook.core import STATED, Better, Contrast, Outcome, Study, find_metric

_CONTRAST_COLUMNS = ("contrast", "metric", "unit", "cell_id", "baseline", "contender")
_STRATUM_COLUMNS = (
    *_CONTRAST_COLUMNS,
    *("stratum", "probability", "baseline_mean", "contender_mean", "effect_pct", "contribution", "share_pct"),
    *("is_log", "rounds", "inside", "is_whole"),
)
_PACKET_COLUMNS = (
    *_CONTRAST_COLUMNS,
    *("direction", "number", "probability", "baseline_cost", "contender_cost", "contribution", "share_pct", "is_log"),
)
_SINGLE_COLUMNS = (
    *("cell_id", "arm", "metric", "unit", "direction", "number", "probability"),
    *("value", "cost", "outcome", "trial_id"),
)
_FAILURE_COLUMNS = ("cell_id", "arm", "stratum", "lost", "outcome", "trials", "probability")
_MAY_BE_MISSING = frozenset(
    {"probability", "value", "cost", "baseline_cost", "contender_cost", "effect_pct", "contribution", "share_pct"}
)


@dataclass(frozen=True)
class LossEffects:
    """The part of losses in the effects of a study.

    `strata` has a row for each contrast, cell and stratum. `probability` is exact, the means are geometric if `is_log`.
    `contribution` is the part of the stratum in the advantage of the contender, above 0 if the contender is better: in
    logarithms if `is_log`, else in the metric's unit. `share_pct` is the same in % of the whole. The contributions of
    a cell sum to the mean advantage over its `rounds`, to the last digits of a float. `effect_pct` is the effect among
    loads of the stratum (`core.Estimate`), and missing without logarithms. `inside` is the number of packets by which
    strata are parted, `is_whole` says whether the loads have no other packets.

    `packets` has a row for each contrast, cell and packet inside. It has the cost of the loss of this packet alone for
    either arm, in the metric's unit, and the part of these loads in the advantage. Costs are measured at the stated
    point of the cell. A packet that a load of the arm does not have costs 0. Costs that were not measured are missing.
    Contributions sum to the contribution of "one" if every cost is measured and rounds draw nothing but losses of
    packets inside. Otherwise rounds add the rest: their conditions, or losses of packets outside, change the costs.

    `singles` has a row for each trial with a single loss at the stated point. It has the value of the arm, and `cost`,
    the value minus the value without loss; both are missing if the trial did not go well. `probability` is the
    probability of this loss alone, missing for a packet outside.

    `failures` has a row for each pattern in which trials of an arm failed or timed out. `probability` is exact: of the
    loss of the packet alone, or of a load without loss. It is missing for other patterns, which are drawn.
    """

    strata: pd.DataFrame
    packets: pd.DataFrame
    singles: pd.DataFrame
    failures: pd.DataFrame


def loss_effects(patterns: pd.DataFrame, cells: Iterable[CellStrata], study: Study) -> LossEffects:
    """Return the part of losses in every cell whose losses are integrated; `patterns` has PATTERN_COLUMNS."""
    plans = {cell.cell_id: cell for cell in cells if not cell.why_sampled}
    strata: list[Mapping[str, Any]] = []
    packets: list[Mapping[str, Any]] = []
    singles: list[Mapping[str, Any]] = []
    failures: list[Mapping[str, Any]] = []
    for cell_id, own in patterns.groupby("cell", sort=False):
        plan = plans[str(cell_id)]
        failures += _failures(plan, own)
        for name, rows in own.groupby("metric", sort=False):
            metric = _Metric(plan, str(name), [_Pattern.of(row) for row in rows.to_dict("records")])
            singles += metric.singles()
            for contrast in study.contrasts:
                if contrast.metric == name and {contrast.baseline, contrast.contender} <= metric.arms.keys():
                    parts = _Parts(metric, contrast)
                    strata += parts.strata()
                    packets += parts.packets()
    return LossEffects(
        _table(strata, _STRATUM_COLUMNS),
        _table(packets, _PACKET_COLUMNS),
        _table(singles, _SINGLE_COLUMNS),
        _table(failures, _FAILURE_COLUMNS),
    )


def _table(rows: Sequence[Mapping[str, Any]], columns: Sequence[str]) -> pd.DataFrame:
    return pd.DataFrame(rows, columns=list(columns)).astype(
        {name: "float64" for name in columns if name in _MAY_BE_MISSING}
    )


@dataclass(frozen=True)
class _Pattern:
    """A row of PATTERN_COLUMNS. `value` is None if the trial did not go well or could not be measured."""

    row: Mapping[Any, Any]
    lost: tuple[Packet, ...]
    value: float | None

    @classmethod
    def of(cls, row: Mapping[Any, Any]) -> "_Pattern":
        good = row["outcome"] == Outcome.OK.value and row["value"] is not None and math.isfinite(row["value"])
        return cls(row, _packets(row["lost"]), float(row["value"]) if good else None)

    @property
    def is_stated(self) -> bool:
        return bool(self.row["round"] == STATED)


def _packets(text: str) -> tuple[Packet, ...]:
    return tuple(map(read_packet, text.split(", "))) if text else ()


class _Metric:
    """The patterns of one metric in one cell."""

    def __init__(self, plan: CellStrata, name: str, patterns: Sequence[_Pattern]) -> None:
        self.plan, self.name = plan, name
        self.unit = str(patterns[0].row["unit"])
        values = [pattern.value for pattern in patterns if pattern.value is not None]
        self.is_log = by_ratios(find_metric(name), values)
        by_arm: dict[str, list[_Pattern]] = {}
        for pattern in patterns:
            by_arm.setdefault(str(pattern.row["arm"]), []).append(pattern)
        self.arms = {arm: _Arm(self, arm, by_arm.get(arm, [])) for arm in plan.arrivals}

    def scaled(self, value: float) -> float:
        return math.log(value) if self.is_log else value

    def in_unit(self, scaled: float) -> float:
        return math.exp(scaled) if self.is_log else scaled

    def singles(self) -> Iterator[dict[str, Any]]:
        """Yield the rows of all trials with a single loss, in the order in which their packets arrive."""
        chances = self.plan.strata.singles
        for name, arm in self.arms.items():
            for packet, pattern in arm.tried.items():
                yield {
                    "cell_id": self.plan.cell_id,
                    "arm": name,
                    "metric": self.name,
                    "unit": self.unit,
                    "direction": packet[0],
                    "number": packet[1],
                    "probability": chances.get(packet),
                    "value": pattern.value,
                    "cost": arm.cost(packet),
                    "outcome": pattern.row["outcome"],
                    "trial_id": pattern.row["trial_id"],
                }


class _Arm:
    """One arm of a cell: its costs at the stated point, and the means of its strata in each round."""

    def __init__(self, metric: _Metric, name: str, patterns: Sequence[_Pattern]) -> None:
        self._metric, self._patterns = metric, patterns
        stated = [pattern for pattern in patterns if pattern.is_stated]
        order = metric.plan.packets(name)
        tried = {packet: pattern for pattern in stated for packet in pattern.lost}
        self.tried = {packet: tried[packet] for packet in order if packet in tried}
        self.load = frozenset(order)
        values = {frozenset(each.lost): metric.scaled(each.value) for each in stated if each.value is not None}
        self.known = StatedArm.of(metric.plan, name, values)

    def single(self, packet: Packet) -> float | None:
        """Return the scaled value if this packet alone is lost; None if it was not measured."""
        if self.known is None:
            return None
        if packet not in self.load:
            return self.known.base
        cost = self.known.measured.get(packet) if packet in self.tried else None
        return None if cost is None else self.known.base + cost

    def cost(self, packet: Packet) -> float | None:
        """Return what the loss of this packet costs in the metric's unit; None if it was not measured."""
        value = self.single(packet)
        if value is None or self.known is None:
            return None
        return self._metric.in_unit(value) - self._metric.in_unit(self.known.base)

    @cached_property
    def means(self) -> Mapping[int, Mapping[str, float]]:
        """The scaled mean of each stratum by round; rounds whose trials all went well.

        A stratum without a trial in a round counts as the others do, as in `round_value`.
        """
        if self.known is None:
            return {}
        by_round: dict[int, list[_Pattern]] = {}
        for pattern in self._patterns:
            if not pattern.is_stated:
                by_round.setdefault(pattern.row["round"], []).append(pattern)
        weights, expected = self._metric.plan.strata.weights, self.known.control.means()
        found: dict[int, Mapping[str, float]] = {}
        for number, patterns in by_round.items():
            if (excess := self._excess(self.known, patterns)) is None:
                continue
            own = {name: math.fsum(values) / len(values) for name, values in excess.items()} | dict(self.known.known)
            others = math.fsum(weights[name] * own[name] for name in own) / math.fsum(weights[name] for name in own)
            found[number] = {name: own.get(name, others) + expected[name] for name in STRATA}
        return found

    def _excess(self, known: StatedArm, patterns: Sequence[_Pattern]) -> Mapping[str, Sequence[float]] | None:
        """Return by how much the values of each stratum exceed what is expected; None if one is missing."""
        found: dict[str, list[float]] = {}
        for pattern in patterns:
            if pattern.value is None:
                return None
            excess = self._metric.scaled(pattern.value) - known.control.expected(pattern.lost)
            found.setdefault(pattern.row["stratum"], []).append(excess)
        return found


class _Parts:
    """The parts of losses in the difference of one contrast in one cell."""

    def __init__(self, metric: _Metric, contrast: Contrast) -> None:
        self._metric, self._contrast = metric, contrast
        self._weights = metric.plan.strata.weights
        self._better = find_metric(metric.name).better
        self._baseline, self._contender = metric.arms[contrast.baseline], metric.arms[contrast.contender]
        self._rounds = sorted(self._baseline.means.keys() & self._contender.means.keys())

    def _named(self) -> dict[str, Any]:
        return {
            "contrast": self._contrast.name,
            "metric": self._metric.name,
            "unit": self._metric.unit,
            "cell_id": self._metric.plan.cell_id,
            "baseline": self._contrast.baseline,
            "contender": self._contrast.contender,
            "is_log": self._metric.is_log,
        }

    def _advantage(self, baseline: float, contender: float) -> float:
        return contender - baseline if self._better is Better.HIGHER else baseline - contender

    def _mean(self, arm: _Arm, stratum: str) -> float:
        return math.fsum(arm.means[number][stratum] for number in self._rounds) / len(self._rounds)

    @cached_property
    def _by_stratum(self) -> Mapping[str, tuple[float, float]]:
        """The scaled means of both arms in each stratum that loads can be of; empty without a round of both."""
        if not self._rounds:
            return {}
        return {
            stratum: (self._mean(self._baseline, stratum), self._mean(self._contender, stratum))
            for stratum in STRATA
            if self._weights[stratum] > 0
        }

    @cached_property
    def _whole(self) -> float:
        return math.fsum(self._weights[name] * self._advantage(*means) for name, means in self._by_stratum.items())

    def _share_pct(self, contribution: float) -> float | None:
        return 100 * contribution / self._whole if self._whole else None

    def strata(self) -> Iterator[dict[str, Any]]:
        """Yield the row of each stratum."""
        for stratum, (baseline, contender) in self._by_stratum.items():
            advantage = self._advantage(baseline, contender)
            contribution = self._weights[stratum] * advantage
            yield {
                **self._named(),
                "stratum": stratum,
                "probability": self._weights[stratum],
                "rounds": len(self._rounds),
                "inside": len(self._metric.plan.strata.singles),
                "is_whole": self._metric.plan.is_whole,
                "baseline_mean": self._metric.in_unit(baseline),
                "contender_mean": self._metric.in_unit(contender),
                "effect_pct": effect_pct(advantage, self._better, is_log=True) if self._metric.is_log else None,
                "contribution": contribution,
                "share_pct": self._share_pct(contribution),
            }

    def packets(self) -> Iterator[dict[str, Any]]:
        """Yield the row of each packet inside."""
        for packet, probability in self._metric.plan.strata.singles.items():
            baseline, contender = self._baseline.single(packet), self._contender.single(packet)
            contribution = None
            if baseline is not None and contender is not None:
                contribution = probability * self._advantage(baseline, contender)
            yield {
                **self._named(),
                "direction": packet[0],
                "number": packet[1],
                "probability": probability,
                "baseline_cost": self._baseline.cost(packet),
                "contender_cost": self._contender.cost(packet),
                "contribution": contribution,
                "share_pct": None if contribution is None else self._share_pct(contribution),
            }


def _failures(plan: CellStrata, patterns: pd.DataFrame) -> Iterator[dict[str, Any]]:
    failed = patterns[patterns["outcome"].isin([str(outcome) for outcome in FAILED])].drop_duplicates("trial_id")
    for (arm, stratum, lost, outcome), rows in failed.groupby(["arm", "stratum", "lost", "outcome"], sort=False):
        yield {
            "cell_id": plan.cell_id,
            "arm": arm,
            "stratum": stratum,
            "lost": lost,
            "outcome": outcome,
            "trials": len(rows),
            "probability": _probability(plan, str(stratum), _packets(str(lost))),
        }


def _probability(plan: CellStrata, stratum: str, lost: Sequence[Packet]) -> float | None:
    """Return the exact probability of the losses that a pattern of "none" or "one" stands for; None of others."""
    strata = plan.strata
    if stratum == NONE and plan.is_whole:
        return strata.weights[NONE]
    inside = [packet for packet in lost if strata.holds(packet)]
    return strata.singles[inside[0]] if stratum == ONE and len(inside) == 1 else None
