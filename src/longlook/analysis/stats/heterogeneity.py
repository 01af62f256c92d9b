"""Does the effect of a contrast differ between the levels of a factor? One test for each factor, beside the verdicts.

Verdicts of neighbouring cells are no comparison of these cells: twelve samples of one effect may be 2 × better and 10 ×
inconclusive. So the effects of the levels are compared with each other. With mᵢ the mean advantage of level i, vᵢ the
variance of that mean, weights wᵢ = 1/vᵢ and m the mean so weighted, Cochran's statistic is

    Q = Σ wᵢ·(mᵢ − m)²    (Cochran, Biometrics 10, 1954)

The variances are estimates from few rounds, and the chi-square law of Q finds too many differences then. Welch's test
of several means with unequal variances (Biometrika 38, 1951) is Q with a correction for that, and an F law. Levels are
compared with all other factors equal. Each combination of these gives a p, and the p values of independent cells are
added as quantiles of chi-square laws with their degrees of freedom (Lancaster, Austral. J. Stat. 3, 1961).

Cells draw their rounds independently. The p values of the factors of a contrast are adjusted together by the study's
correction. Skewed rounds make p too small, and rare losses that the rounds missed are not allowed for
(docs/explanation/method.md has rates). There is no test if the data decide the number of rounds.
"""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, fields, replace

import numpy as np
import pandas as pd

from longlook.analysis.stats import libraries, procedures
from longlook.analysis.stats.cells import Cells
from longlook.analysis.stats.scales import Scale, compared, none_seen
from longlook.core import Contrast, Study, find_metric

_LEAST_P = 1e-300
"""A smaller p has no quantile of a chi-square law in double precision."""


@dataclass(frozen=True)
class Heterogeneity:
    """The test of whether a contrast's effect differs between the levels of a factor, all other factors equal.

    `low` and `high` are the smallest and the largest effect of the cells compared, in `unit`. `i2` is the share of the
    variation between cells that chance does not explain (Higgins and Thompson, Stat. Med. 21, 2002), 0 to 1.
    """

    contrast: str
    metric: str
    factor: str
    cells: int  # that were compared
    unit: str
    low: float
    high: float
    q: float
    df: int
    i2: float
    p: float
    p_adjusted: float


@dataclass(frozen=True)
class _Mean:
    """The mean advantage of a cell, the variance of that mean, and the rounds that it is from."""

    levels: Mapping[str, str]
    mean: float
    variance: float
    rounds: int
    scale: Scale

    @property
    def effect(self) -> float:
        return self.scale.effect(self.mean) or 0.0


def heterogeneity(samples: pd.DataFrame, study: Study) -> list[Heterogeneity]:
    """Return the test of every factor of every contrast that has two levels to compare, in the study's order.

    Compared are cells with `min_rounds` or more, a spread between their rounds, and effects in the unit of most cells.
    """
    if study.stopping is not None:
        return []
    cells = Cells(samples, study, (contrast.metric for contrast in study.contrasts))
    found = []
    for contrast in study.contrasts:
        means = _means(cells, contrast, study)
        tests = [test for factor in study.factors if (test := _test(contrast, factor.name, means)) is not None]
        p = procedures.adjust([test.p for test in tests], study.analysis.correction)
        found += [replace(test, p_adjusted=adjusted) for test, adjusted in zip(tests, p, strict=True)]
    return found


def heterogeneity_table(found: Sequence[Heterogeneity]) -> pd.DataFrame:
    """Return a row for each test."""
    return pd.DataFrame([asdict(item) for item in found], columns=[item.name for item in fields(Heterogeneity)])


def welch_anova(means: Sequence[float], variances: Sequence[float], rounds: Sequence[int]) -> tuple[float, float]:
    """Return Cochran's Q of two or more means and Welch's p of their being equal.

    `variances` are of the means and above 0; `rounds` are the numbers of values behind them, 2 or more.
    """
    count, weights = len(means), 1 / np.array(variances, np.float64)
    total = float(np.sum(weights))
    middle = float(np.sum(weights * np.array(means))) / total
    q = float(np.sum(weights * (np.array(means) - middle) ** 2))
    slack = float(np.sum((1 - weights / total) ** 2 / (np.array(rounds) - 1)))
    statistic = q / (count - 1) / (1 + 2 * (count - 2) / (count**2 - 1) * slack)
    return q, float(libraries.stats.f.sf(statistic, count - 1, (count**2 - 1) / (3 * slack)))


def _means(cells: Cells, contrast: Contrast, study: Study) -> list[_Mean]:
    metric, found = find_metric(contrast.metric), []
    for data in cells.of(contrast):
        baseline, contender = data.pairs
        if len(baseline) < max(2, study.analysis.min_rounds) or none_seen(baseline, contender, metric):
            continue
        advantage, scale = compared(baseline, contender, metric, study.analysis)
        if np.ptp(advantage) > procedures.ROUNDING:
            # On one scale for all cells, as the size of differences is each cell's own.
            size = 1.0 if scale.is_log else scale.size
            variance = float(np.var(advantage, ddof=1)) / len(advantage) * size**2
            mean = float(np.mean(advantage)) * size
            found.append(_Mean(data.cell, mean, variance, len(advantage), _unsized(scale)))
    units = [item.scale.unit for item in found]
    shared = max(dict.fromkeys(units), key=units.count, default="")
    return [item for item in found if item.scale.unit == shared and 0 < item.variance < np.inf]


def _unsized(scale: Scale) -> Scale:
    return scale if scale.is_log else Scale(scale.better, scale.unit, scale.margin * scale.size, is_log=False)


def _test(contrast: Contrast, factor: str, means: Sequence[_Mean]) -> Heterogeneity | None:
    groups: dict[tuple[tuple[str, str], ...], list[_Mean]] = {}
    for item in means:
        others = tuple((name, label) for name, label in item.levels.items() if name != factor)
        groups.setdefault(others, []).append(item)
    compared_groups = [group for group in groups.values() if len(group) > 1]
    if not compared_groups:
        return None
    tests = [
        welch_anova([item.mean for item in group], [item.variance for item in group], [item.rounds for item in group])
        for group in compared_groups
    ]
    freedoms = [len(group) - 1 for group in compared_groups]
    df = sum(freedoms)
    if len(tests) == 1:
        ((_, p),) = tests
    else:
        quantiles = [
            float(libraries.stats.chi2.isf(max(p, _LEAST_P), freedom))
            for (_, p), freedom in zip(tests, freedoms, strict=True)
        ]
        p = float(libraries.stats.chi2.sf(sum(quantiles), df))
    corrected = float(libraries.stats.chi2.isf(max(p, _LEAST_P), df))
    effects = [item.effect for group in compared_groups for item in group]
    return Heterogeneity(
        contrast=contrast.name,
        metric=contrast.metric,
        factor=factor,
        cells=len(effects),
        unit=means[0].scale.unit,
        low=min(effects),
        high=max(effects),
        q=sum(q for q, _ in tests),
        df=df,
        i2=max(0.0, (corrected - df) / corrected) if corrected > 0 else 0.0,
        p=p,
        p_adjusted=p,
    )
