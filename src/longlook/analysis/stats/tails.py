"""Facts that a mean hides: how often the contender wins a round, and how the worst loads of both arms compare.

Both are for a number of rounds fixed beforehand; if the data decide the number (`rounds = "decide"`) there is neither.
No shape is assumed.
"""

import math
import warnings
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from typing import Any

import numpy as np
import pandas as pd

from longlook.analysis.samples import FACTOR_PREFIX
from longlook.analysis.stats import libraries
from longlook.analysis.stats.cells import CellData, Cells
from longlook.analysis.stats.procedures import Floats, effect_pct
from longlook.core import Better, Metric, Study, find_metric

WORST = (0.05, 0.01)
"""The shares of loads, from the worst on, of which the best one is compared."""


@dataclass(frozen=True)
class RoundsWon:
    """In how many rounds of a cell the contender was better; a tie is no win. The interval is of the probability."""

    contrast: str
    metric: str
    cell: Mapping[str, str]
    cell_id: str
    baseline: str
    contender: str
    n_pairs: int
    won: int
    tied: int
    share_pct: float
    ci_low_pct: float
    ci_high_pct: float


@dataclass(frozen=True)
class TailEffect:
    """The effect on a quantile: the value that the worst `worst_pct` of an arm's loads are not better than.

    `effect_pct` has the sign and scale of `results.Estimate`. It, its interval and the values are None with fewer
    rounds than `rounds_needed` in an arm, or if a value is not positive.
    """

    contrast: str
    metric: str
    unit: str
    cell: Mapping[str, str]
    cell_id: str
    baseline: str
    contender: str
    worst_pct: float
    n_baseline: int
    n_contender: int
    rounds_needed: int
    baseline_value: float | None
    contender_value: float | None
    effect_pct: float | None
    ci_low_pct: float | None
    ci_high_pct: float | None


def rounds_won(samples: pd.DataFrame, study: Study) -> list[RoundsWon]:
    """Return how often the contender wins, for every contrast in every cell with a round that both arms have.

    The interval is Clopper's and Pearson's (Biometrika 26, 1934), exact and no narrower than `confidence` says.
    """
    return (
        []
        if study.stopping is not None
        else [_won(*each, study.analysis.confidence) for each in _cells(samples, study)]
    )


def tail_effects(samples: pd.DataFrame, study: Study) -> list[TailEffect]:
    """Return the effect on the worst loads, for every contrast, cell and share of WORST.

    Each arm's quantile gets an interval from one order statistic to another (Conover 1999, 3.2) at half of the error of
    `confidence`. By Bonferroni both hold together, whatever the two arms have in common, and so does the interval of
    their ratio: from the least of one over the greatest of the other to the reverse.
    """
    if study.stopping is not None:
        return []
    confidence = study.analysis.confidence
    return [_tail(data, metric, worst, confidence) for data, metric in _cells(samples, study) for worst in WORST]


def rounds_needed(worst: float, confidence: float) -> int:
    """Return with how many rounds each arm's quantile has an interval: (1 - worst)ⁿ must not exceed a quarter of the
    error.
    """
    return math.ceil(math.log((1 - confidence) / 4) / math.log1p(-worst))


def quantile_interval(values: Floats, share: float, confidence: float) -> tuple[float, float, float] | None:
    """Return the quantile below which a `share` of a distribution lies, with its interval; None for too few values."""
    if len(values) == 0:
        return None
    middle = float(np.quantile(values, share))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)  # too few values: the interval is then nan
        found: Any = libraries.stats.quantile_test(values, q=middle, p=share).confidence_interval(confidence)
    low, high = float(found.low), float(found.high)
    return (middle, low, high) if math.isfinite(low) and math.isfinite(high) else None


def spread_table(found: Sequence[RoundsWon] | Sequence[TailEffect]) -> pd.DataFrame:
    """Return a row for each, with the cell's id as `cell` and a column `factor.NAME` for each factor."""
    rows = [{name: value for name, value in asdict(item).items() if name not in ("cell", "cell_id")}
            | {"cell": item.cell_id} | {FACTOR_PREFIX + name: level for name, level in item.cell.items()}
            for item in found]  # fmt: skip
    if not rows:
        return pd.DataFrame()
    floats = {item.name: "float64" for item in fields(found[0]) if item.name.endswith(("_pct", "_value"))}
    return pd.DataFrame(rows).astype(floats)


def _cells(samples: pd.DataFrame, study: Study) -> Iterator[tuple[CellData, Metric]]:
    cells = Cells(samples, study, (contrast.metric for contrast in study.contrasts))
    for contrast in study.contrasts:
        for data in cells.of(contrast):
            if data.unseen_pct is not None:  # its rounds are means over loads, and say nothing of single ones
                continue
            if data.rounds:
                yield data, find_metric(contrast.metric)


def _won(data: CellData, metric: Metric, confidence: float) -> RoundsWon:
    baseline, contender = data.pairs
    better = contender > baseline if metric.better is Better.HIGHER else contender < baseline
    won, count = int(better.sum()), len(baseline)
    interval = libraries.stats.binomtest(won, count).proportion_ci(confidence, method="exact")
    return RoundsWon(
        contrast=data.contrast.name,
        metric=metric.name,
        cell=data.cell,
        cell_id=data.cell_id,
        baseline=data.baseline.name,
        contender=data.contender.name,
        n_pairs=count,
        won=won,
        tied=int((contender == baseline).sum()),
        share_pct=100 * won / count,
        ci_low_pct=100 * float(interval.low),
        ci_high_pct=100 * float(interval.high),
    )


def _tail(data: CellData, metric: Metric, worst: float, confidence: float) -> TailEffect:
    share = worst if metric.better is Better.HIGHER else 1 - worst
    each = 1 - (1 - confidence) / 2
    values = data.baseline.array, data.contender.array
    found = [quantile_interval(own, share, each) if len(own) and own.min() > 0 else None for own in values]
    baseline, contender = found
    effects: tuple[float | None, ...] = (None, None, None)
    if baseline is not None and contender is not None:
        ratios = contender[0] / baseline[0], contender[1] / baseline[2], contender[2] / baseline[1]
        sign = 1 if metric.better is Better.HIGHER else -1
        effect, *ends = (effect_pct(sign * math.log(ratio), metric.better, is_log=True) for ratio in ratios)
        effects = (effect, *ends[::sign])
    return TailEffect(
        contrast=data.contrast.name,
        metric=metric.name,
        unit=metric.unit,
        cell=data.cell,
        cell_id=data.cell_id,
        baseline=data.baseline.name,
        contender=data.contender.name,
        worst_pct=100 * worst,
        n_baseline=len(values[0]),
        n_contender=len(values[1]),
        rounds_needed=rounds_needed(worst, confidence),
        baseline_value=None if baseline is None else baseline[0],
        contender_value=None if contender is None else contender[0],
        effect_pct=effects[0],
        ci_low_pct=effects[1],
        ci_high_pct=effects[2],
    )
