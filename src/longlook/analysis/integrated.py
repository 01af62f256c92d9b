"""Samples of single patterns of losses → samples of rounds: losses are integrated (`stats.strata`). Pure."""

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import pandas as pd

from longlook.analysis.samples import APART, APART_TRIALS, LIKE, UNSEEN
from longlook.analysis.stats.rare_losses import Apart, larger_pct
from longlook.analysis.stats.scales import by_ratios
from longlook.analysis.stats.strata import (
    MORE,
    NONE,
    ONE,
    STRATA,
    Control,
    Packet,
    after_backoff,
    interpolated,
    round_value,
)
from longlook.analysis.strata_plan import CellStrata, write_packet
from longlook.core import STATED, Outcome, Trial, find_metric
from longlook.network import dropped

PATTERN_COLUMNS = (
    *("cell", "arm", "metric", "unit", "round", "stratum", "lost"),
    *("value", "expected", "trial_id", "outcome"),
)
"""Columns of `strata.parquet`: a row for each metric of each trial in a stratum. `lost` are the lost packets
among the packets of a load without loss, `expected` is the value that the single losses let expect, in the metric's
unit.
"""

_ALONE = {LIKE: "", **dict.fromkeys((UNSEEN, APART, APART_TRIALS, "value"), math.nan)}


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


def integrate(
    samples: pd.DataFrame,
    trials: Iterable[Trial],
    cells: Iterable[CellStrata],
    arrived: Mapping[str, Mapping[str, int]] | None = None,
) -> Integrated:
    """Return samples in which each arm has one row a round and metric, in place of its patterns of losses.

    `samples` has the rows of all trials (`samples_table`). The value of a round is a mean over all loads, of logarithms
    if the metric is compared by ratios (`stats.scales`), else of the values. It is missing if a trial of the round did
    not go well, with the first such outcome and reason. Cells that are not integrated stay as they are.

    `arrived` has by trial how many packets came to the link in each direction: a trial with more packets than losses
    were drawn for (`CellStrata.until`) counts as invalid.
    """
    plans = {cell.cell_id: cell for cell in cells if not cell.why_sampled}
    if not plans:
        return Integrated(samples, pd.DataFrame(columns=list(PATTERN_COLUMNS)))
    by_id = {trial.id: trial for trial in trials}
    ours = samples["trial_id"].map({name: bool(trial.stratum) for name, trial in by_id.items()}).astype(bool)
    last = samples[ours].drop_duplicates(["trial_id", "metric"], keep="last")
    over = last["trial_id"].map(lambda name: plans[by_id[name].cell_id].overran((arrived or {}).get(name, {})))
    reason = "the trial had more packets than losses were drawn for"
    last = last.assign(
        value=last["value"].mask(over),
        outcome=last["outcome"].mask(over, Outcome.INVALID.value),
        **({"reason": last["reason"].mask(over, reason)} if "reason" in last else {}),
    )
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
    own = {LIKE: "str", **dict.fromkeys((UNSEEN, APART, APART_TRIALS), "float64")}
    kinds = {**{str(name): kind for name, kind in samples.dtypes.items()}, **own}
    return Integrated(table.fillna({LIKE: ""}).astype(kinds), pd.DataFrame(patterns, columns=list(PATTERN_COLUMNS)))


class _Metric:
    """One metric in one cell."""

    def __init__(self, plan: CellStrata, samples: Sequence[_Sample]) -> None:
        self._plan, self._samples = plan, samples
        metric = find_metric(str(samples[0].row["metric"]))
        self._is_log = by_ratios(metric, [sample.value for sample in samples if sample.value is not None])
        self._arms = {arm: StatedArm.of(plan, arm, self._stated(arm)) for arm in plan.arrivals}

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
            expected = math.nan if arm is None else self._in_unit(arm.base + arm.control.expected(sample.lost))
            row["expected"] = expected
            found.append(row)
        return found

    def _stated(self, name: str) -> dict[frozenset[Packet], float]:
        return {
            sample.lost: self._scaled(sample.value)
            for sample in self._samples
            if sample.trial.arm == name and sample.trial.round == STATED and sample.value is not None
        }

    def _round(self, arm: "StatedArm | None", samples: Sequence[_Sample]) -> dict[str, Any]:
        trials = []
        for sample in samples:
            if sample.value is None:
                return {**sample.row, **_ALONE}
            trials.append(Drawn(sample.trial.stratum, sample.lost, self._scaled(sample.value)))
        value = None if arm is None else arm.round_value(trials)
        if arm is None or value is None:
            return {**samples[0].row, **_ALONE}
        unseen_pct, name = arm.unseen_pct(trials, value, is_log=self._is_log), samples[0].trial.arm
        found = {**samples[0].row, **_ALONE, "value": self._in_unit(value), UNSEEN: unseen_pct}
        if name not in self._plan.alike or not self._is_log:
            return found
        apart = arm.apart(trials, self._dearest[self._plan.alike[name]])
        return found | {LIKE: self._plan.alike[name], APART: apart.distance, APART_TRIALS: apart.trials}

    @cached_property
    def _dearest(self) -> dict[str, float]:
        """The largest cost of a pattern by the kind of its arm (`CellStrata.alike`), a logarithm."""
        found = dict.fromkeys(self._plan.alike.values(), 0.0)
        for sample in self._samples:
            kind, arm = self._plan.alike.get(sample.trial.arm), self._arms[sample.trial.arm]
            if kind is not None and arm is not None and sample.value is not None:
                found[kind] = max(found[kind], self._scaled(sample.value) - arm.base)
        return found

    def _scaled(self, value: float) -> float:
        return math.log(value) if self._is_log else value

    def _in_unit(self, scaled: float) -> float:
        return math.exp(scaled) if self._is_log else scaled


@dataclass(frozen=True)
class Drawn:
    """A trial of a round: its stratum, the lost packets, and its value on the scale that is averaged."""

    stratum: str
    lost: frozenset[Packet]
    value: float


@dataclass(frozen=True)
class StatedArm:
    """An arm by its trials at the stated point: its value without loss, the cost of each single loss that was measured,
    and the expected cost of patterns.

    `known` are the strata that no round has to sample: there, a value minus its expectation is the value without loss.
    """

    plan: CellStrata
    base: float
    measured: Mapping[Packet, float]
    control: Control
    known: Mapping[str, float]

    @classmethod
    def of(
        cls,
        plan: CellStrata,
        arm: str,
        stated: Mapping[frozenset[Packet], float],
        others: Mapping[Packet, float] | None = None,
    ) -> "StatedArm | None":
        """Return it from the values of the trials at the stated point, by their lost packets: none, or a single one.

        None if the trial without loss has no value, or one with a single loss that no round tries again. `others` are
        the costs of single losses of an arm of which this one is a variant: they stand for the losses that it has not
        tried, and its rounds try such losses again.

        At a point a load is known without loss if all of it is inside, with single losses if all of them were tried.
        """
        base = stated.get(frozenset())
        if base is None:
            return None
        measured = {packet: value - base for lost, value in stated.items() for packet in lost}
        load = plan.packets(arm)
        control = Control.of(plan.strata, interpolated(load, {**(others or {}), **measured}))
        if not plan.exact or not all(plan.strata.holds(packet) for packet in load):
            return cls(plan, base, measured, control, {})
        if all(packet in measured for packet in load if packet in plan.strata.singles):
            return cls(plan, base, measured, control, {NONE: base, ONE: base})
        return None if others is None else cls(plan, base, measured, control, {NONE: base})

    def round_value(self, trials: Iterable[Drawn]) -> float | None:
        """Return the mean over all loads, as the trials of a round show it; None if a stratum has none."""
        excess: dict[str, list[float]] = {name: [] for name in STRATA}
        for trial in trials:
            excess[trial.stratum].append(trial.value - self.control.expected(trial.lost))
        return round_value(self.plan.strata.weights, excess, self.known, self.control.mean)

    def apart(self, trials: Iterable[Drawn], dearest: float) -> Apart:
        """Return how far patterns that no round drew may part this arm and one with nearly the same programs.

        A pattern may cost one of them nothing, and the other as much as the dearest packet that is not inside. In the
        stratum "one" it may cost as much as the dearest packet whose single loss was not tried. In the stratum "more"
        it may cost what the dearest pattern of both arms costs after a further timeout (`after_backoff`): `dearest` is
        the cost of that pattern. The stratum in which this counts most is decisive.
        """
        further = {ONE: self._untried, MORE: after_backoff(dearest)}
        counts = Counter(trial.stratum for trial in trials)
        weights = self.plan.strata.weights
        found = [
            Apart(weights[stratum] * max(self._outside, further.get(stratum, 0.0)), count)
            for stratum, count in counts.items()
        ]
        return max(found, key=lambda apart: apart.distance / apart.trials)

    @cached_property
    def _outside(self) -> float:
        """The largest cost of the loss of a packet that is not inside."""
        costs = self.control.costs
        return max((abs(cost) for packet, cost in costs.items() if not self.plan.strata.holds(packet)), default=0.0)

    @cached_property
    def _untried(self) -> float:
        """The largest cost of a single loss that was not measured, between the measured ones."""
        return max((abs(cost) for packet, cost in self.control.costs.items() if packet not in self.measured), default=0)

    def unseen_pct(self, trials: Iterable[Drawn], value: float, *, is_log: bool) -> float:
        """Return by how much the value of a round may be larger because of one trial that was not seen, in %.

        In the stratum "more" the value of that trial is larger by the share by which a number of losses fluctuates, as
        in `stats.rare_losses`. In any stratum it may differ as far as the dearest packet that is not inside. The trial
        counts in the round as every other of its stratum does. The stratum in which it counts most is decisive.
        `value` is the round's, and `is_log` says whether values are logarithms. Other values may at most double.
        """
        strata, costs = self.plan.strata, self.control.costs
        by_stratum: dict[str, list[Drawn]] = {}
        for trial in trials:
            by_stratum.setdefault(trial.stratum, []).append(trial)
        distance = 0.0
        for stratum, drawn in by_stratum.items():
            further = self._outside
            if stratum == MORE:
                losses = sum(packet in costs for trial in drawn for packet in trial.lost) / len(drawn)
                share = larger_pct(losses) / 100
                usual = math.fsum(abs(trial.value) for trial in drawn) / len(drawn)
                further = max(further, math.log1p(share) if is_log else share * usual)
            distance = max(distance, strata.weights[stratum] / len(drawn) * further)
        if is_log:
            return 100 * math.expm1(distance)
        return min(100.0, 100 * distance / abs(value)) if value else 0.0
