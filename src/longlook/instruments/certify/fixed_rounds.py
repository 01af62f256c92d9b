"""Error rates of verdicts and intervals if the number of rounds is fixed beforehand. Pure.

Each function resamples rounds that were run, through the very procedures that make verdicts. `draws` are samples for
each population. Random numbers come from the seed and the population's name, so that the same rounds give the same
rates, and a population more changes no other's.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from longlook.analysis import Floats, procedures
from longlook.core import Analysis, Verdict
from longlook.instruments.certify.populations import (
    Population,
    generator,
    is_difference,
    one_verdict,
    swapped,
    verdicts,
)
from longlook.instruments.certify.rates import Limit, Promise, Rate, found

SIZES = (10, 20)
POWER_SIZES = (10, 20, 40)
SHIFTS_PCT = (0.5, 1.0, 2.0, 5.0)
HEATMAP_CELLS = 21
"""The number of cells in Fig. 6a of Kakhki et al."""

_ROUNDING = 1e-9
"""Relative: an end of an interval that is so near to the truth is on it."""


def false_verdicts(twins: Sequence[Population], analysis: Analysis, part: str) -> list[Rate]:
    """Return how often an arm against itself is called different, each cell a family of its own.

    The rounds are the rounds that were run, none is drawn twice: rates are of cells.
    """
    read = [one_verdict(twin, analysis) for twin in twins]
    unit = "cells of an arm against itself"
    called, small = f"p < {analysis.alpha:g}", "p < 0.05"

    def promise(event: str, nominal: float | None) -> Promise:
        return Promise(part, "paired test", event, unit, nominal, None if nominal is None else Limit.AT_MOST)

    return found(
        [
            promise("verdict better or worse", analysis.alpha).rate(is_difference(verdict) for verdict, _ in read),
            promise(called, analysis.alpha).rate(
                p < analysis.alpha for _, paired in read if (p := paired.p) is not None
            ),
            promise(small, 0.05).rate(p < 0.05 for _, paired in read if (p := paired.p) is not None),
            promise("verdict equivalent", None).rate(verdict is Verdict.EQUIVALENT for verdict, _ in read),
            promise("verdict inconclusive", None).rate(verdict is Verdict.INCONCLUSIVE for verdict, _ in read),
        ]
    )


def coverage(dense: Sequence[Population], analysis: Analysis, seed: int, draws: int) -> list[Rate]:
    """Return how often the interval of an effect holds the truth, and how often it lies wholly on one side of it.

    Further rates are about contrasts that are moved to no effect: arms whose loads take equally long in the mean,
    though their laws differ. They say how often such contrasts are called better or worse. The last rate is the share
    of verdicts that are withheld because the path loses packets at random (`rare_losses`).
    """
    rates: list[Rate | None] = []
    for size in SIZES:
        read = [
            (one_verdict(sample, analysis)[1], population.mean)
            for population in dense
            for sample in _draws(population, size, draws, seed, "coverage")
        ]
        ends = [(paired.low, paired.high, truth) for paired, truth in read]
        below = [high is not None and high < truth - _near(truth) for _, high, truth in ends]
        above = [low is not None and low > truth + _near(truth) for low, _, truth in ends]
        level, each = analysis.confidence, (1 - analysis.confidence) / 2

        def promise(event: str, nominal: float, limit: Limit, size: int = size) -> Promise:
            return Promise("coverage", f"interval, {size} rounds", event, "samples of rounds", nominal, limit)

        rates += [
            promise("holds the true effect", level, Limit.NEAR).rate(
                not (low or high) for low, high in zip(below, above, strict=True)
            ),
            promise("lies below the true effect", each, Limit.AT_MOST).rate(below),
            promise("lies above the true effect", each, Limit.AT_MOST).rate(above),
            Promise(
                "coverage",
                f"paired test, {size} rounds",
                "verdict better or worse, contrasts moved to no effect",
                "samples of rounds",
                analysis.alpha,
                Limit.AT_MOST,
            ).rate(
                is_difference(one_verdict(sample, analysis)[0])
                for population in dense
                for sample in _draws(population.moved_to(0.0), size, draws, seed, "no effect")
            ),
            Promise(
                "coverage",
                f"paths with random loss, {size} rounds",
                "verdict withheld that these rounds alone would give",
                "samples of rounds",
            ).rate(
                one_verdict(sample, analysis)[0] is Verdict.INCONCLUSIVE
                for population in dense
                if population.losses is not None
                for sample in _draws(population, size, draws, seed, "coverage")
                if one_verdict(replace(sample, losses=None), analysis)[0] is not Verdict.INCONCLUSIVE
            ),
        ]
    return found(rates)


@dataclass(frozen=True)
class Coverage:
    """How often the intervals of one population held its truth."""

    population: str
    rounds: int
    share: float
    skewness: float


def coverage_by_population(
    dense: Sequence[Population], analysis: Analysis, seed: int, draws: int
) -> Iterator[Coverage]:
    """Yield the same samples' coverage population by population, with the skewness of its advantages."""
    for size in SIZES:
        for population in dense:
            ends = [one_verdict(sample, analysis)[1] for sample in _draws(population, size, draws, seed, "coverage")]
            truth, near = population.mean, _near(population.mean)
            held = [
                paired.low is not None and paired.high is not None and paired.low - near <= truth <= paired.high + near
                for paired in ends
            ]
            yield Coverage(population.name, size, sum(held) / len(held), _skewness(population.advantages))


def equivalence_at_margin(
    twins: Sequence[Population], dense: Sequence[Population], analysis: Analysis, seed: int, draws: int
) -> list[Rate]:
    """Return how often arms are called equivalent whose true difference is the margin, a hair beyond it."""
    margin = procedures.margin(analysis.margin_pct, is_log=True) * (1 + _ROUNDING)
    level = 1 - analysis.confidence

    def promise(procedure: str, unit: str) -> Promise:
        return Promise("equivalence", procedure, "verdict equivalent at the margin", unit, level, Limit.AT_MOST)

    moved = [twin.shifted(shift) for twin in twins for shift in (-margin, margin)]
    rates = [
        promise("an arm against itself, moved to the margin", "cells, on either side").rate(
            one_verdict(cell, analysis)[0] is Verdict.EQUIVALENT for cell in moved
        )
    ]
    rates += [
        promise(f"contrasts moved to the margin, {size} rounds", "samples of rounds").rate(
            one_verdict(sample, analysis)[0] is Verdict.EQUIVALENT
            for population in dense
            for shift in (-margin, margin)
            for sample in _draws(population.moved_to(shift), size, draws, seed, "equivalence", f"{shift > 0}")
        )
        for size in SIZES
    ]
    return found(rates)


def heatmaps(twins: Sequence[Population], analysis: Analysis, seed: int, count: int) -> list[Rate]:
    """Return how often a whole heatmap of arms against themselves has any false verdict.

    Each heatmap has HEATMAP_CELLS cells drawn from all twins, corrected together. In each round of each cell a coin
    decides which of both arms is the contender: both are alike, so every outcome is as likely as what was run.
    """
    if not twins:
        return []
    promise = Promise(
        "heatmaps",
        f"{HEATMAP_CELLS} cells, correction {analysis.correction}",
        "any verdict better or worse",
        "heatmaps of an arm against itself",
        analysis.alpha,
        Limit.AT_MOST,
    )

    def any_false(number: int) -> bool:
        random = generator(seed, "heatmap", number)
        chosen = random.choice(len(twins), HEATMAP_CELLS, replace=len(twins) < HEATMAP_CELLS)
        family = [swapped(twins[index], random) for index in chosen]
        return any(is_difference(verdict) for verdict, _ in verdicts(family, analysis))

    return found([promise.rate(any_false(number) for number in range(count))])


@dataclass(frozen=True)
class Power:
    """How often a known difference was found: p below alpha, in the right direction."""

    source: str
    difference_pct: float  # of the round trip where `source` is the arms, else of the metric
    effect_pct: float  # the true effect, in the mean over cells; below 0 the contender is worse
    rounds: int
    rate: Rate


def power(
    source: str, by_difference: dict[float, list[Population]], analysis: Analysis, seed: int, draws: int
) -> list[Power]:
    """Return how often differences are found; in populations the contender is worse (their means are below 0)."""
    table = []
    for difference_pct, members in by_difference.items():
        effect = float(np.mean([population.mean for population in members])) if members else 0.0
        for size in POWER_SIZES:
            promise = Promise(
                "power", f"{source}, {difference_pct:g} %, {size} rounds", "difference found", "samples of rounds"
            )
            rate = promise.rate(
                finds_worse(sample, analysis)
                for population in members
                for sample in _draws(population, size, draws, seed, "power", f"{difference_pct:g}")
            )
            if rate is not None:
                table.append(Power(source, difference_pct, -100 * float(np.expm1(-effect)), size, rate))
    return table


def moved_by(
    dense: Sequence[Population], differences_pct: Sequence[float] = SHIFTS_PCT
) -> dict[float, list[Population]]:
    """Return populations whose contender takes exactly this many per cent longer than its baseline, by the per cent."""
    return {
        difference: [population.moved_to(-float(np.log1p(difference / 100))) for population in dense]
        for difference in differences_pct
    }


def smallest_found(table: Sequence[Power], wanted: float = 0.8) -> dict[tuple[str, int], Power | None]:
    """Return the smallest difference that, as every larger one, is found with a probability of `wanted`.

    Keys are source and number of rounds; None if the largest is not found so often.
    """
    smallest: dict[tuple[str, int], Power | None] = {}
    ended: set[tuple[str, int]] = set()
    for item in sorted(table, key=lambda item: -item.difference_pct):
        key = (item.source, item.rounds)
        smallest.setdefault(key)
        if item.rate.share < wanted:
            ended.add(key)
        elif key not in ended:
            smallest[key] = item
    return dict(sorted(smallest.items()))


def finds_worse(sample: Population, analysis: Analysis) -> bool:
    """Return whether a sample's p is below alpha, and its effect below 0; a constant one's p is 0."""
    _, paired = one_verdict(sample, analysis)
    return paired.p is not None and paired.p < analysis.alpha and paired.mean < 0


def _draws(population: Population, size: int, draws: int, seed: int, *names: str) -> Iterator[Population]:
    """Yield samples of rounds, drawn with replacement."""
    random = generator(seed, population.name, size, *names)
    for _ in range(draws):
        yield population.sample(random, size)


def _near(truth: float) -> float:
    return _ROUNDING * max(abs(truth), 1e-3)


def _skewness(values: Floats) -> float:
    distance = values - np.mean(values)
    spread = float(np.mean(distance**2))
    return float(np.mean(distance**3)) / spread**1.5 if spread > 0 else 0.0
