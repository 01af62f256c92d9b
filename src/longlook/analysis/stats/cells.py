"""The data of a contrast in one cell: values by round, and the outcome of every attempt."""

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from longlook.analysis.samples import (
    APART,
    APART_TRIALS,
    FACTOR_PREFIX,
    LIKE,
    LOSES_AT_RANDOM,
    RANDOM_LOSSES,
    UNSEEN,
)
from longlook.analysis.stats.procedures import Floats
from longlook.analysis.stats.rare_losses import Apart
from longlook.analysis.stats.scales import compared
from longlook.core import Analysis, Contrast, InputError, Outcome, Study, find_metric
from longlook.study import COLUMN_PREFIX

FAILED = frozenset({Outcome.FAILED, Outcome.TIMED_OUT})
JUDGED = FAILED | {Outcome.OK}
"""Outcomes that the programs decided: only these are compared as failures."""

REASON = "reason"
NEEDED = ("cell", "arm", "round", "attempt", "metric", "value", "outcome")

_LONGEST_REASON = 160  # characters; a program's own words may be long

_Row = Mapping[str, Any]


@dataclass(frozen=True)
class ArmData:
    """One arm of a cell. `values` maps a round to the value of its last attempt, if that went well and was measured."""

    name: str
    values: Mapping[int, float]
    rounds: int  # with at least one attempt
    failed_rounds: int  # whose last attempt did not go well
    why_failed: str  # the outcome and the reason of most of these, how many they are; "" of none
    unmeasured_rounds: int  # whose last attempt went well but holds no usable value
    outcomes: Mapping[str, int]  # outcome → count of all attempts
    failed: Mapping[int, bool]  # round → whether its last attempt failed or timed out; ok, failed and timed_out alone
    random_losses: Mapping[int, float]  # round → packets lost at random: rounds with a value, and a log that has them
    loses_at_random: bool  # whether the path of any of its rounds does
    unseen_pct: Mapping[int, float]  # round → UNSEEN; of integrated losses, rounds with a value
    like: str  # LIKE
    apart: Mapping[int, Apart]  # round → APART and APART_TRIALS

    @property
    def array(self) -> Floats:
        """All values in order of rounds, shape (rounds,)."""
        return np.array([self.values[number] for number in sorted(self.values)], np.float64)


@dataclass(frozen=True)
class Failures:
    """The rounds that were judged on both arms, and in how many of them each arm failed."""

    rounds: int
    baseline: int
    contender: int
    both: int


@dataclass(frozen=True)
class CellData:
    """Both arms of a contrast in one cell."""

    contrast: Contrast
    cell_id: str
    cell: Mapping[str, str]
    baseline: ArmData
    contender: ArmData
    drawn: Mapping[str, Mapping[int, float]]  # setting → round → the value that both arms had in it

    @property
    def rounds(self) -> list[int]:
        """The rounds in which both arms have a value, in order."""
        return sorted(self.baseline.values.keys() & self.contender.values.keys())

    @property
    def pairs(self) -> tuple[Floats, Floats]:
        """The values of the rounds that both arms have, in order: shape (pairs,) each."""
        baseline = np.array([self.baseline.values[number] for number in self.rounds], np.float64)
        return baseline, np.array([self.contender.values[number] for number in self.rounds], np.float64)

    @property
    def random_losses(self) -> Floats | None:
        """The packets lost at random in each of these rounds, by the arm that lost fewer: shape (pairs,).

        A round whose losses are not known counts as one without loss, for which most is allowed. None if the path of
        neither arm loses packets at random.
        """
        lossy = self._lossy
        if not lossy:
            return None
        return np.array(
            [min(arm.random_losses.get(number, 0.0) for arm in lossy) for number in self.rounds], np.float64
        )

    @property
    def rounds_without_log(self) -> int:
        """The number of these rounds in which it is not known how many packets an arm lost at random."""
        return sum(any(number not in arm.random_losses for arm in self._lossy) for number in self.rounds)

    @property
    def _lossy(self) -> list[ArmData]:
        return [arm for arm in (self.baseline, self.contender) if arm.loses_at_random]

    @property
    def unseen_pct(self) -> float | None:
        """By how much a value of a round that was not seen may be larger, in %; None if losses are not integrated.

        It is the mean of these rounds, for the arm of which this is more.
        """
        known = [arm.unseen_pct for arm in (self.baseline, self.contender) if arm.unseen_pct]
        means = [float(np.mean([losses[number] for number in self.rounds])) for losses in known if self.rounds]
        return max(means, default=None)

    def room(self, error: float) -> float | None:
        """Return by how much the mean advantage may lie beside the mean of these rounds, a logarithm; None if the arms
        are not nearly one program, or losses are not integrated.

        Patterns of losses part the arms which these rounds miss with a probability of at most `error`. The arm
        for which this is more counts.
        """
        if not self.rounds or not self.baseline.like or self.baseline.like != self.contender.like:
            return None
        count = len(self.rounds)
        return max(arm.apart[self.rounds[-1]].room(count, error) for arm in (self.baseline, self.contender))

    @property
    def drawn_in_pairs(self) -> dict[str, Floats]:
        """The values of each setting that was drawn in all of these rounds, by its name: shape (pairs,) each."""
        rounds = self.rounds
        return {
            setting: np.array([values[number] for number in rounds], np.float64)
            for setting, values in self.drawn.items()
            if all(number in values for number in rounds)
        }

    @property
    def failures(self) -> Failures:
        """The failures of both arms, by round.

        A round counts if each arm's last attempt was ok, failed or timed out: an invalid attempt is not the arm's
        fault, and what is unsupported was not tried.
        """
        baseline, contender = self.baseline.failed, self.contender.failed
        pairs = [(baseline[number], contender[number]) for number in baseline.keys() & contender.keys()]
        return Failures(
            rounds=len(pairs),
            baseline=sum(first for first, _ in pairs),
            contender=sum(second for _, second in pairs),
            both=sum(first and second for first, second in pairs),
        )


class Cells:
    """The cells of a study with their samples of some metrics, by which all contrasts on these find theirs.

    Samples are plain dictionaries here: an arm has few in a cell, for which each operation on a table takes far longer
    than a loop, and studies have hundreds of cells, arms and contrasts.
    """

    def __init__(self, samples: pd.DataFrame, study: Study, metrics: Iterable[str]) -> None:
        self._study = study
        factors = [FACTOR_PREFIX + factor.name for factor in study.factors]
        lost = [LOSES_AT_RANDOM, RANDOM_LOSSES] if RANDOM_LOSSES in samples.columns else []
        unseen = [UNSEEN, LIKE, APART, APART_TRIALS] if UNSEEN in samples.columns else []
        needed = [*NEEDED, *factors, *lost, *unseen]
        why = [name for name in (REASON,) if name in samples.columns]
        if missing := [name for name in needed if name not in samples.columns]:
            hint = "measure the run folder again: longlook report RUN"
            raise InputError(f"samples have no column {missing[0]!r}", hint)
        self._drawn = [str(name) for name in samples.columns if str(name).startswith(COLUMN_PREFIX)]
        table = samples[samples["metric"].isin(set(metrics))][[*needed, *why, *self._drawn]]
        # Sorted, so that the order of rows can never matter.
        table = table.sort_values(["cell", "arm", "round", "attempt"], kind="stable")
        columns = {str(name): table[name].tolist() for name in table.columns}
        self._rows: dict[str, dict[str, dict[str, list[_Row]]]] = {}  # by metric, cell and arm
        for values in zip(*columns.values(), strict=True):
            row = dict(zip(columns, values, strict=True))
            arms = self._rows.setdefault(row["metric"], {}).setdefault(str(row["cell"]), {})
            arms.setdefault(row["arm"], []).append(row)

    def of(self, contrast: Contrast) -> list[CellData]:
        """Return every cell in which an arm of the contrast was tried, in the order of the study's levels."""
        names = sorted({contrast.baseline, contrast.contender})
        cells: list[tuple[tuple[int, ...], CellData]] = []
        for cell_id, arms in self._rows.get(contrast.metric, {}).items():
            rows = [row for name in names for row in arms.get(name, ())]
            if not rows:
                continue
            cell = {factor.name: str(rows[0][FACTOR_PREFIX + factor.name]) for factor in self._study.factors}
            baseline, contender = (_arm(arms.get(name, ()), name) for name in (contrast.baseline, contrast.contender))
            data = CellData(contrast, cell_id, cell, baseline, contender, _values_drawn(rows, self._drawn))
            cells.append((_position(self._study, cell), data))
        return [data for _, data in sorted(cells, key=lambda entry: (entry[0], entry[1].cell_id))]


def _arm(attempts: Sequence[_Row], name: str) -> ArmData:
    final = list({row["round"]: row for row in attempts}.values())
    good = [row for row in final if row["outcome"] == Outcome.OK.value]
    usable = [row for row in good if _is_known(row["value"]) and math.isfinite(row["value"])]
    return ArmData(
        name=name,
        values={row["round"]: float(row["value"]) for row in usable},
        rounds=len(final),
        failed_rounds=len(final) - len(good),
        why_failed=_why_failed([row for row in final if row["outcome"] != Outcome.OK.value]),
        unmeasured_rounds=len(good) - len(usable),
        outcomes=dict(sorted(Counter(str(row["outcome"]) for row in attempts).items())),
        failed={row["round"]: Outcome(row["outcome"]) in FAILED for row in final if Outcome(row["outcome"]) in JUDGED},
        random_losses={row["round"]: row[RANDOM_LOSSES] for row in usable if _is_known(row.get(RANDOM_LOSSES))},
        loses_at_random=any(row.get(LOSES_AT_RANDOM, False) for row in final),
        unseen_pct={row["round"]: row[UNSEEN] for row in usable if _is_known(row.get(UNSEEN))},
        like=next((row[LIKE] for row in usable if row.get(LIKE)), ""),
        apart={row["round"]: Apart(row[APART], int(row[APART_TRIALS])) for row in usable if _is_known(row.get(APART))},
    )


def _why_failed(failed: Sequence[_Row]) -> str:
    """Return the outcome and the reason of most failed rounds, with their number if others had another."""
    if not failed:
        return ""
    reasons = (row.get(REASON) for row in failed)
    named = [reason if isinstance(reason, str) and reason else "no reason given" for reason in reasons]
    whys = Counter((str(row["outcome"]), reason) for row, reason in zip(failed, named, strict=True))
    ((outcome, reason), count) = whys.most_common(1)[0]
    why = f"{outcome.replace('_', ' ')}: {_shortened(reason)}"
    return why if count == len(failed) else f"{count} times {why}"


def _shortened(reason: str) -> str:
    first = " ".join(reason.split()).replace("; ", ", ")  # which parts the reasons of an estimate
    return first if len(first) <= _LONGEST_REASON else f"{first[: _LONGEST_REASON - 1]}…"


def _is_known(value: float | None) -> bool:
    return value is not None and not math.isnan(value)


def _values_drawn(rows: Sequence[_Row], columns: Sequence[str]) -> dict[str, dict[int, float]]:
    """Return what the rounds of a cell drew: all rows of a round have the same values."""
    by_round: dict[int, _Row] = {}
    for row in rows:
        by_round.setdefault(row["round"], row)
    return {
        column.removeprefix(COLUMN_PREFIX): {
            number: float(row[column]) for number, row in by_round.items() if not math.isnan(row[column])
        }
        for column in columns
    }


def _position(study: Study, cell: Mapping[str, str]) -> tuple[int, ...]:
    orders = [[level.label for level in factor.levels] for factor in study.factors]
    labels = [cell[factor.name] for factor in study.factors]
    return tuple(
        order.index(label) if label in order else len(order) for order, label in zip(orders, labels, strict=True)
    )


@dataclass(frozen=True)
class RoundEffects:
    """The rounds of a cell in which both arms have a value, from 0, in order; all sequences are as long as `rounds`."""

    rounds: tuple[int, ...]
    effects: tuple[float | None, ...]  # as `Estimate.effect`, of one round
    unit: str
    drawn: Mapping[str, tuple[float, ...]]  # of each setting that all of these rounds drew


def effects_by_round(cells: Cells, contrast: Contrast, analysis: Analysis) -> dict[str, RoundEffects]:
    """Return the effects of a contrast by the cell's id; a cell without such rounds, or without draws, has none."""
    metric = find_metric(contrast.metric)
    found = {}
    for cell in cells.of(contrast):
        drawn = {name: tuple(values.tolist()) for name, values in cell.drawn_in_pairs.items() if len(values)}
        if drawn:
            advantages, scale = compared(*cell.pairs, metric, analysis)
            effects = tuple(scale.effect(advantage) for advantage in advantages.tolist())
            found[cell.cell_id] = RoundEffects(tuple(cell.rounds), effects, scale.unit, drawn)
    return found
