"""Shares of a declared population of paths in which a metric is below a value: exact for the shares that are declared.

The levels of one factor are strata. Each round meets every stratum once, so a round's share is the sum of the shares of
the strata in which the metric is below the value, or has no value because nothing arrived. It is exact for the
population that the study declares, and says nothing of how well that describes anybody's paths.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from longlook.analysis.samples import FACTOR_PREFIX
from longlook.analysis.stats.cells import ArmData, Cells
from longlook.analysis.stats.levels import median_interval
from longlook.core import ArmLevel, Contrast, Population, Study, echoes
from longlook.study import cell_id

PERCENT = "%"
_PAYLOAD = "workload.payload"

Labels = tuple[tuple[str, str], ...]
"""The levels of the other factors: (factor, label)."""


@dataclass(frozen=True)
class _Place:
    """One arm under the levels of all factors but the population's: its data in every stratum."""

    labels: Labels
    arm: str
    strata: Mapping[str, ArmData]

    def shares(self, population: Population, below: float) -> list[float]:
        """Return the share in % of each round in which every stratum had a trial that was ok."""
        numbers = set.intersection(*(_known(data) for data in self.strata.values()))
        return [
            sum(population.shares[label] for label, data in self.strata.items() if _is_below(data, number, below))
            for number in sorted(numbers)
        ]


def population_levels(samples: pd.DataFrame, study: Study) -> list[ArmLevel]:
    """Return the shares that claims are about: of each arm, below each value that one of them names."""
    population = study.population
    if population is None:
        return []
    asked = [claim.expected for claim in study.claims if claim.expected is not None]
    wanted = dict.fromkeys((each.metric, each.below) for each in asked if each.below is not None)
    found = []
    for metric, below in wanted:
        for place in _places(samples, study, population, metric):
            values = place.shares(population, below)
            median, low, high = median_interval(np.array(values, np.float64), study.analysis.confidence)
            cell = dict(place.labels)
            name = f"population {cell_id(cell)} < {below:g}"
            level = ArmLevel(place.arm, cell, name, metric, PERCENT, len(values), median, low, high, below)
            found.append(level)
    return found


def population_curves(samples: pd.DataFrame, study: Study, metric: str) -> pd.DataFrame | None:
    """Return the share below each value of a metric; None for a study without a population.

    The columns are arm, `factor.NAME` of the other factors, below (the metric's unit), share_pct (mean over rounds) and
    rounds. The values are all that occur, and of an echo the sizes that it tried.
    """
    population = study.population
    if population is None:
        return None
    places = _places(samples, study, population, metric)
    rows = []
    for below in _thresholds(places, study):
        for place in places:
            values = place.shares(population, below)
            if values:
                labels = {f"{FACTOR_PREFIX}{name}": label for name, label in place.labels}
                share_pct = round(float(np.mean(values)), 6)
                rows.append({"arm": place.arm, **labels, "below": below, "share_pct": share_pct, "rounds": len(values)})
    return pd.DataFrame(rows) if rows else None


def _thresholds(places: Sequence[_Place], study: Study) -> list[float]:
    seen: set[float] = {value for place in places for data in place.strata.values() for value in data.values.values()}
    if isinstance(sizes := study.settings.get(_PAYLOAD), str):
        seen |= set(map(float, echoes.payloads(sizes)))
    return sorted(seen)


def _places(samples: pd.DataFrame, study: Study, population: Population, metric: str) -> list[_Place]:
    """Return every arm under every combination of the other factors' levels in which all strata were tried."""
    cells = Cells(samples, study, [metric])
    places = []
    for arm in study.arms:
        strata: dict[Labels, dict[str, ArmData]] = {}
        for data in cells.of(Contrast("", arm.name, arm.name, metric)):
            labels = tuple((name, label) for name, label in data.cell.items() if name != population.factor)
            strata.setdefault(labels, {})[data.cell[population.factor]] = data.baseline
        places += [_Place(labels, arm.name, own) for labels, own in strata.items() if _covers(own, population.shares)]
    return places


def _covers(strata: Iterable[str], shares: Mapping[str, float]) -> bool:
    return set(strata) == set(shares)


def _known(data: ArmData) -> set[int]:
    """Return the rounds whose trial was ok, whether the metric had a value or not."""
    return {number for number, failed in data.failed.items() if not failed}


def _is_below(data: ArmData, number: int, below: float) -> bool:
    return number not in data.values or data.values[number] < below
