"""On which scale both arms of a cell are compared: ratios or differences, by what the metric measures."""

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from longlook.analysis.stats import procedures
from longlook.analysis.stats.procedures import Floats
from longlook.core import Analysis, Better, Effect, Ends, Metric, Quantity, margin_of

PERCENT = "%"
_LEAST_INDEX = 1e-9
_MOST = 1e6
"""The largest margin in units of the largest value: no difference reaches it, and nothing overflows with it."""


@dataclass(frozen=True)
class Scale:
    """The scale of the advantages of a cell. `margin` is the margin of equivalence on it.

    An advantage is a log ratio, or a difference of which 1 is `size` in `unit`. `magnitude` is the mean magnitude of
    the values of both arms on the scale of differences.
    """

    better: Better
    unit: str  # of effects
    margin: float
    is_log: bool = True
    size: float = 1.0
    magnitude: float = 1.0

    def effect(self, advantage: float | None) -> float | None:
        """Return an advantage as an effect in `unit`; None if it is too large for a float."""
        if self.is_log or advantage is None:
            return procedures.effect_pct(advantage, self.better, is_log=True)
        found = advantage * self.size
        return found + 0.0 if np.isfinite(found) else None

    def difference(self, mean: float, low: float | None, high: float | None) -> Effect | None:
        """Return the effect of a scale of differences with its interval; None of a scale of ratios."""
        value = self.effect(mean)
        if self.is_log or value is None:
            return None
        return Effect(value, self.effect(low), self.effect(high), self.unit, self.margin * self.size)

    def ends(self, low: float, high: float) -> Ends | None:
        """Return two advantages as effects of a scale of differences; None of a scale of ratios."""
        return None if self.is_log else Ends(self.effect(low), self.effect(high), self.unit)


def by_ratios(metric: Metric, values: Iterable[float]) -> bool:
    """Return whether values of a metric are compared by log ratios: it is a ratio metric, and all are positive."""
    return metric.quantity is Quantity.RATIO and min(values, default=0.0) > 0


def compared(baseline: Floats, contender: Floats, metric: Metric, analysis: Analysis) -> tuple[Floats, Scale]:
    """Return the contender's advantage in each round, shape (rounds,), above 0 if it is better, and their scale.

    A ratio metric is compared by log ratios. If a value is not positive there is none: then differences are compared,
    and no margin was fixed for these. An index of fairness J is compared by the spread √(1/J − 1) of the parts that it
    stands for, in % of their mean: J = 1/(1 + spread²) (Jain, Chiu and Hawe, DEC TR-301, 1984). All else is compared
    by differences. Swapping the arms changes the sign alone. Without a round no scale has a meaning.
    """
    if len(baseline) == 0:
        return np.zeros(0), Scale(metric.better, metric.effect_unit, 0.0)
    margin = margin_of(metric, analysis).size
    if by_ratios(metric, (*baseline, *contender)):
        found, _ = procedures.advantages(baseline, contender, metric.better)
        return found, Scale(metric.better, PERCENT, procedures.margin(margin, is_log=True))
    better = metric.better
    if metric.quantity is Quantity.INDEX:
        baseline, contender, better = _spread_pct(baseline), _spread_pct(contender), Better.LOWER
    sign = 1.0 if better is Better.HIGHER else -1.0
    size = float(max(np.max(np.abs(baseline)), np.max(np.abs(contender)))) or 1.0
    baseline, contender = baseline / size, contender / size  # differences of the values might overflow
    return sign * (contender - baseline), Scale(
        better,
        metric.difference_unit,
        0.0 if metric.quantity is Quantity.RATIO else min(margin / size, _MOST),
        is_log=False,
        size=size,
        magnitude=float(np.mean(np.abs(np.concatenate([baseline, contender])))),
    )


def none_seen(baseline: Floats, contender: Floats, metric: Metric) -> bool:
    """Return whether what the metric counts was never seen: every value of both arms is 0."""
    return metric.quantity is not Quantity.INDEX and not baseline.any() and not contender.any()


def _spread_pct(index: Floats) -> Floats:
    found: Floats = 100 * np.sqrt(np.maximum(1 / np.clip(index, _LEAST_INDEX, 1.0) - 1, 0.0))
    return found
