"""Samples of single patterns of losses → samples of rounds: losses are integrated (`stats.strata`). Pure."""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from statistics import median
from typing import Any

import pandas as pd

from longlook.analysis.samples import LIKE, UNSEEN, UNSEEN_BESIDE
from longlook.analysis.stats.strata import MORE, NONE, ONE, STRATA, Control, Packet, interpolated, round_value
from longlook.analysis.strata_plan import CellStrata, write_packet
from longlook.core import STATED, Outcome, Trial
from longlook.network import dropped

PATTERN_COLUMNS = (
    *("cell", "arm", "metric", "unit", "round", "stratum", "lost"),
    *("value", "expected", "trial_id", "outcome"),
)
"""Columns of `strata.parquet`: a row for each metric of each trial in a stratum. `lost` are the lost packets of those
that a load without loss has, `expected` is the value that the single losses let expect, in the metric's unit.
"""

_ALONE = {LIKE: "", UNSEEN: float("nan"), UNSEEN_BESIDE: float("nan"), "value": float("nan")}

_PAIRS = 30
"""Patterns in which two arms must have been compared before these say how far an unseen pattern may part them."""


@dataclass(frozen=True)
class Integrated:
    """The samples of a study with its losses integrated, and the patterns behind them (PATTERN_COLUMNS)."""

    samples: pd.DataFrame
    patterns: pd.DataFrame


@dataclass(frozen=True)
class _Sample:
    """One metric of one trial. `value` is None if it did not go well or could not be measured."""

    row: Mapping[Any, Any]
    trial: Trial
    lost: frozenset[Packet]
    value: float | None

    @classmethod
    def of(cls, row: Mapping[Any, Any], trial: Trial) -> "_Sample":
        value = row["value"]
        good = row["outcome"] == Outcome.OK.value and value is not None and math.isfinite(value)
        lost = (
            (direction, number)
            for direction, ranges in dropped(trial.link).items()
            for first, last in ranges
            for number in range(first, last + 1)
        )
        return cls(row, trial, frozenset(lost), float(value) if good else None)


def integrate(samples: pd.DataFrame, trials: Iterable[Trial], cells: Iterable[CellStrata]) -> Integrated:
    """Return samples in which each arm has one row a round and metric, in place of its patterns of losses.

    `samples` are those of all trials (`samples_table`). The value of a round is a mean over all loads: of logarithms if
    all values of the metric in the cell are positive, else of the values. It is missing if a trial of the round did not
    go well, with the first such outcome and reason. Cells that are not integrated stay as they are.
    """
    plans = {cell.cell_id: cell for cell in cells if not cell.why_sampled}
    if not plans:
        return Integrated(samples, pd.DataFrame(columns=list(PATTERN_COLUMNS)))
    by_id = {trial.id: trial for trial in trials}
    ours = samples["trial_id"].map({name: bool(trial.stratum) for name, trial in by_id.items()}).astype(bool)
    last = samples[ours].drop_duplicates(["trial_id", "metric"], keep="last")
    rounds: list[dict[str, Any]] = []
    patterns: list[dict[str, Any]] = []
    for (cell_id, _), rows in last.groupby(["cell", "metric"], sort=False):
        found = _Metric(
            plans[str(cell_id)], [_Sample.of(row, by_id[row["trial_id"]]) for row in rows.to_dict("records")]
        )
        rounds += found.rounds()
        patterns += found.patterns()
    columns = list(dict.fromkeys([*samples.columns, *_ALONE]))
    table = pd.concat(
        [samples[~ours].reindex(columns=columns), pd.DataFrame(rounds, columns=columns)], ignore_index=True
    )
    own = {LIKE: "str", UNSEEN: "float64", UNSEEN_BESIDE: "float64"}
    kinds = {**{str(name): kind for name, kind in samples.dtypes.items()}, **own}
    return Integrated(table.fillna({LIKE: ""}).astype(kinds), pd.DataFrame(patterns, columns=list(PATTERN_COLUMNS)))


class _Metric:
    """One metric in one cell."""

    def __init__(self, plan: CellStrata, samples: Sequence[_Sample]) -> None:
        self._plan, self._samples = plan, samples
        values = [sample.value for sample in samples if sample.value is not None]
        self._is_log = bool(values) and min(values) > 0
        self._arms = {arm: self._arm(arm) for arm in plan.arrivals}
        self._distances: dict[tuple[str, str], float] = {}

    def rounds(self) -> list[dict[str, Any]]:
        """Return a row of the samples for each arm and round."""
        by_round: dict[tuple[str, int], list[_Sample]] = {}
        for sample in self._samples:
            if sample.trial.round != STATED:
                by_round.setdefault((sample.trial.arm, sample.trial.round), []).append(sample)
        return [self._round(self._arms[arm], samples) for (arm, _), samples in sorted(by_round.items())]

    def patterns(self) -> list[dict[str, Any]]:
        """Return a row of PATTERN_COLUMNS for each trial."""
        found = []
        loads = {arm: frozenset(self._plan.packets(arm)) for arm in self._arms}
        for sample in self._samples:
            arm = self._arms[sample.trial.arm]
            row = {name: sample.row[name] for name in PATTERN_COLUMNS if name in sample.row}
            shown = sorted(sample.lost & loads[sample.trial.arm])
            row["stratum"], row["lost"] = sample.trial.stratum, ", ".join(map(write_packet, shown))
            row["expected"] = self._in_unit(arm.base + arm.control.expected(sample.lost))
            found.append(row)
        return found

    def _arm(self, name: str) -> "KnownArm":
        return KnownArm.of(self._plan, name, self._stated(name), self._stated(self._plan.costs_of.get(name, name)))

    def _stated(self, name: str) -> list[tuple[frozenset[Packet], float]]:
        return [
            (sample.lost, self._scaled(sample.value))
            for sample in self._samples
            if sample.trial.arm == name and sample.trial.round == STATED and sample.value is not None
        ]

    def _round(self, arm: "KnownArm", samples: Sequence[_Sample]) -> dict[str, Any]:
        excess: dict[str, list[float]] = {name: [] for name in STRATA}
        for sample in samples:
            if sample.value is None:
                return {**sample.row, **_ALONE}
            excess[sample.trial.stratum].append(self._scaled(sample.value) - arm.control.expected(sample.lost))
        value = round_value(self._plan.strata.weights, excess, arm.known, arm.control.mean)
        unseen = arm.unseen([sample.lost for sample in samples if sample.trial.stratum == MORE])
        mean = None if value is None else self._in_unit(value)
        found = {**samples[0].row, **_ALONE, "value": mean, UNSEEN: 100 * math.expm1(unseen) if self._is_log else 0.0}
        like = self._plan.costs_of.get(samples[0].trial.arm)
        if like is None or not self._is_log:
            return found
        beside = min(unseen, self._apart(samples[0].trial.arm, like))
        return found | {LIKE: like, UNSEEN_BESIDE: 100 * math.expm1(beside)}

    def _apart(self, arm: str, other: str) -> float:
        """Return how far an unseen pattern may part two arms that are nearly one program: twice the largest distance
        from the usual one among all patterns that both ran, infinite if these are few.
        """
        if (arm, other) not in self._distances:
            values = {
                name: {
                    (sample.trial.round, sample.trial.stratum, sample.lost): self._scaled(sample.value)
                    for sample in self._samples
                    if sample.trial.arm == name and sample.value is not None
                }
                for name in (arm, other)
            }
            both = values[arm].keys() & values[other].keys()
            ratios = [values[arm][key] - values[other][key] for key in both]
            usual = median(ratios) if ratios else 0.0
            enough = len(ratios) >= _PAIRS
            self._distances[arm, other] = 2 * max(abs(ratio - usual) for ratio in ratios) if enough else math.inf
        return self._distances[arm, other]

    def _scaled(self, value: float) -> float:
        return math.log(value) if self._is_log else value

    def _in_unit(self, scaled: float) -> float:
        return math.exp(scaled) if self._is_log else scaled


@dataclass(frozen=True)
class KnownArm:
    """What the stated point says of an arm, on the scale of its values: the value without loss, the cost of each single
    loss that was measured, and the expected cost of patterns.
    """

    plan: CellStrata
    base: float
    measured: Mapping[Packet, float]
    control: Control

    @classmethod
    def of(
        cls,
        plan: CellStrata,
        name: str,
        stated: Sequence[tuple[Iterable[Packet], float]],
        of_costs: Sequence[tuple[Iterable[Packet], float]],
    ) -> "KnownArm":
        """Return the same of an arm's trials at the stated point: the lost packets, none or one, and the value.

        `of_costs` are the trials of the arm whose single losses stand for its own (`CellStrata.costs_of`).
        """
        base, base_of_costs = (next((value for lost, value in each if not lost), 0.0) for each in (stated, of_costs))
        measured = {packet: value - base_of_costs for lost, value in of_costs for packet in lost}
        costs = interpolated(plan.packets(name), measured)
        return cls(plan, base, measured, Control.of(plan.strata, costs))

    @property
    def known(self) -> Mapping[str, float]:
        """The strata that no round has to sample: there, a value minus its expectation is the value without loss."""
        return {NONE: self.base, ONE: self.base} if self.plan.exact else {}

    def unseen(self, more: Sequence[frozenset[Packet]]) -> float:
        """Return by how much a round that was not seen may differ, on the scale of logarithms.

        In the stratum "more" a value may be larger by the share by which a number of losses fluctuates, as in
        `stats.rare_losses`. In the others it may differ as far as the dearest packet that is not inside.
        """
        strata, costs = self.plan.strata, self.control.costs
        losses = sum(sum(packet in costs for packet in lost) for lost in more) / max(1, len(more))
        outside = max((abs(cost) for packet, cost in costs.items() if not strata.holds(packet)), default=0.0)
        share = strata.weights[MORE]
        return share * math.log1p(1 / math.sqrt(max(1.0, losses))) + (1 - share) * outside
