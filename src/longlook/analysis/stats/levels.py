"""Samples → the level of each arm in each cell, by itself."""

import warnings
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd

from longlook.analysis.stats import libraries
from longlook.analysis.stats.cells import Cells
from longlook.analysis.stats.procedures import Floats
from longlook.core import DOTS, MATRIX, TREND, ArmLevel, Contrast, Study, find_metric

PART = "part"
FAIR: Mapping[str, float | str] = {
    "share_of_used": PART,
    "share_of_link": PART,
    "fair_share": 100.0,
    "competitor_fair_share": 100.0,
    "jain_index": 1.0,
}
"""Metrics of shares and their fair value: a number, or the first group's part of the competing flows in %."""


def arm_levels(samples: pd.DataFrame, study: Study, metrics: Sequence[str] | None = None) -> list[ArmLevel]:
    """Return the median over rounds and its interval for every arm in every cell in which it was tried.

    `metrics` defaults to the metrics that contrasts and claims about levels name. As for `estimate`, `samples` has the
    columns of `samples_table`, and a round counts with its last attempt.
    """
    named = _spoken_of(study) if metrics is None else metrics
    cells = Cells(samples, study, named)
    return [
        _level(arm.name, metric, study, data.cell, data.cell_id, data.baseline.array)
        for metric in named
        for arm in study.arms
        for data in cells.of(Contrast("", arm.name, arm.name, metric))
    ]


def metrics_by_arm(study: Study) -> list[str]:
    """Return the metrics for which the level of each arm is reported, next to the contrasts."""
    wanted = [contrast.metric for contrast in study.contrasts] if study.figure.kind == TREND else []
    wanted += [study.figure_metric] if study.figure.kind in (MATRIX, DOTS) else []
    return list(dict.fromkeys([*wanted, *(name for name in study.metrics if name in FAIR)]))


def _spoken_of(study: Study) -> list[str]:
    claimed = [claim.expected.metric for claim in study.claims if claim.expected is not None]
    return list(dict.fromkeys([*(contrast.metric for contrast in study.contrasts), *claimed]))


def _level(arm: str, metric: str, study: Study, cell: Mapping[str, str], cell_id: str, values: Floats) -> ArmLevel:
    median, low, high = median_interval(values, study.analysis.confidence)
    unit = find_metric(metric).unit
    return ArmLevel(arm, cell, cell_id, metric, unit, len(values), median, low, high)


def median_interval(values: Floats, confidence: float) -> tuple[float | None, float | None, float | None]:
    """Return the median, and an interval for the median of the distribution; the interval is None for too few values.

    The interval goes from one order statistic to another, by the binomial distribution (Conover 1999, 3.2; scipy's
    quantile_test). It assumes no shape, and holds the median at least with probability `confidence`: with 10 values and
    95 % it goes from the second to the ninth. Fewer than 6 values give none.
    """
    if len(values) == 0:
        return None, None, None
    median = float(np.median(values))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)  # too few values: the interval is then nan
        found: Any = libraries.stats.quantile_test(values, q=median, p=0.5).confidence_interval(confidence)
    low, high = float(found.low), float(found.high)
    if not (np.isfinite(low) and np.isfinite(high)):
        return median, None, None
    return median, low, high
