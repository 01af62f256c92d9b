"""Samples → advantages by round, as the statistical procedures take them. Pure.

A *population* are the rounds of one contrast in one cell. A *twin* is an arm against itself: two rounds of one arm in
one cell have seeds and draws of their own, and in virtual time nothing else differs between them. Each pair of rounds
that follow one another is thus a round of two arms that are alike and share no random number. A coin decides which of
both counts as the contender, so that slow changes (live) favour neither.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Protocol

import numpy as np
import numpy.typing as npt
import pandas as pd

from longlook.analysis import Apart, Cells, Floats, Paired, decide, procedures, rare_losses
from longlook.core import Analysis, Contrast, Study, Verdict, find_metric
from longlook.study import rank, uniform


class Procedure(Protocol):
    """An analysis of advantages: `procedures.paired`, or `sequential.paired` with its `last`."""

    def __call__(self, advantage: Floats, margin: float, confidence: float, *, skewed: bool = True) -> Paired:
        """Return the analysis."""


@dataclass(frozen=True)
class Population:
    """The advantages of a contrast in one cell, one for each round that both arms have, in the order of rounds.

    `losses` are the packets lost at random in each of these rounds (`CellData.random_losses`), `unseen_pct` how far a
    round may differ that was not seen, if losses are integrated (`ArmData.unseen_pct`): shape (arms, rounds). If both
    arms are nearly one program, `apart` is by round how far patterns that were not drawn until then may part them.
    """

    contrast: str
    cell_id: str
    advantages: Floats
    losses: Floats | None = None
    unseen_pct: Floats | None = None
    apart: tuple[Apart, ...] = ()

    @property
    def name(self) -> str:
        """Return a name that is unique in a study."""
        return f"{self.contrast}, {self.cell_id}"

    @property
    def mean(self) -> float:
        """Return the mean advantage of all rounds: the truth, if rounds are drawn from these."""
        return float(np.mean(self.advantages))

    def moved_to(self, mean: float) -> "Population":
        """Return the same advantages, all moved by the same amount so that their mean is `mean`."""
        return self.shifted(mean - self.mean)

    def shifted(self, shift: float) -> "Population":
        """Return the same advantages, all moved by the same amount."""
        return replace(self, advantages=self.advantages + shift)

    def sample(self, random: np.random.Generator, size: int) -> "Population":
        """Return this number of rounds, drawn with replacement."""
        return self._of(random.choice(len(self.advantages), size))

    def first(self, count: int) -> "Population":
        """Return this number of rounds from the beginning."""
        return self._of(np.arange(count))

    def _of(self, rounds: npt.NDArray[np.intp]) -> "Population":
        losses = None if self.losses is None else self.losses[rounds]
        unseen = None if self.unseen_pct is None else self.unseen_pct[:, rounds]
        apart = tuple(self.apart[number] for number in rounds) if self.apart else ()
        return replace(self, advantages=self.advantages[rounds], losses=losses, unseen_pct=unseen, apart=apart)

    def analysed(self, analyse: rare_losses.Analyse, confidence: float) -> Paired:
        """Return what an analysis finds, with the room for random losses that `stats.estimate` gives it."""
        if self.apart:
            room = self.apart[-1].room(len(self.advantages), (1 - confidence) / 2)
            return rare_losses.with_room(analyse, self.advantages, room)
        if self.unseen_pct is None:
            return rare_losses.analysed(analyse, self.advantages, self.losses, is_log=True)
        unseen = float(np.max(np.mean(self.unseen_pct, axis=1)))
        return rare_losses.with_unseen(analyse, self.advantages, unseen, is_log=True)


def populations(samples: pd.DataFrame, study: Study) -> list[Population]:
    """Return the advantages of every contrast in every cell with at least two rounds that both arms have."""
    found = []
    cells = Cells(samples, study, (contrast.metric for contrast in study.contrasts))
    for contrast in study.contrasts:
        better = find_metric(contrast.metric).better
        for data in cells.of(contrast):
            baseline, contender = data.pairs
            if len(baseline) >= 2:
                advantages, _ = procedures.advantages(baseline, contender, better)
                found.append(Population(contrast.name, data.cell_id, advantages, data.random_losses))
    return found


def twins(samples: pd.DataFrame, study: Study, metric: str) -> list[Population]:
    """Return each arm against itself in every cell; the contrast is the arm's name."""
    found = []
    better = find_metric(metric).better
    cells = Cells(samples, study, [metric])
    for arm in study.arms:
        for data in cells.of(Contrast("", arm.name, arm.name, metric)):
            values, losses = data.baseline.values, data.baseline.random_losses
            numbers = [
                number for number in range(0, max(values, default=0), 2) if number in values and number + 1 in values
            ]
            pairs = [
                _ordered((values[number], values[number + 1]), (study.seed, arm.name, data.cell_id, number))
                for number in numbers
            ]
            if len(pairs) >= 2:
                lost = [min(losses.get(number, 0.0), losses.get(number + 1, 0.0)) for number in numbers]
                first, second = np.array(pairs, np.float64).T
                advantages, _ = procedures.advantages(first, second, better)
                known = np.array(lost, np.float64) if data.baseline.loses_at_random else None
                found.append(Population(arm.name, data.cell_id, advantages, known))
    return found


def _ordered(pair: tuple[float, float], names: Sequence[str | int]) -> tuple[float, float]:
    return pair if uniform("twin", *names) < 0.5 else (pair[1], pair[0])


def verdicts(
    family: Sequence[Population], analysis: Analysis, procedure: Procedure = procedures.paired
) -> list[tuple[Verdict, Paired]]:
    """Return the verdict of each cell of one contrast, corrected over all of them, as `stats.estimate` finds it."""
    margin = procedures.margin(analysis.margin_pct, is_log=True)

    def analyse(advantage: Floats, *, skewed: bool = True) -> Paired:
        return procedure(advantage, margin, analysis.confidence, skewed=skewed)

    read = [cell.analysed(analyse, analysis.confidence) for cell in family]
    tested = [index for index, paired in enumerate(read) if paired.p is not None]
    p = procedures.adjust([p for paired in read if (p := paired.p) is not None], analysis.correction)
    adjusted = dict(zip(tested, p, strict=True))
    return [
        (decide(len(cell.advantages), paired, adjusted.get(index), analysis)[0], paired)
        for index, (cell, paired) in enumerate(zip(family, read, strict=True))
    ]


def one_verdict(
    cell: Population, analysis: Analysis, procedure: Procedure = procedures.paired
) -> tuple[Verdict, Paired]:
    """Return the verdict of a cell that is a family of its own."""
    return verdicts([cell], analysis, procedure)[0]


def swapped(twin: Population, random: np.random.Generator) -> Population:
    """Return the rounds of an arm against itself with a coin for each that decides which side is the contender."""
    advantages = twin.advantages
    return replace(twin, advantages=np.where(random.random(len(advantages)) < 0.5, advantages, -advantages))


def is_difference(verdict: Verdict) -> bool:
    """Return whether a verdict says that one arm is better."""
    return verdict in (Verdict.BETTER, Verdict.WORSE)


def generator(seed: int, *names: str | int) -> np.random.Generator:
    """Return a source of random numbers that is the same on every machine, and independent for different names."""
    return np.random.default_rng(rank("certify", seed, *names))
