"""The type of metrics: a trial → one number, one file per metric or family, each defining METRIC or METRICS.

Their declarations name the types that they read by `longlook.metrics.Metric`; for all others a metric is a name, a unit
and a function.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from longlook.core import registry
from longlook.core.model import Analysis, Better
from longlook.core.quantity import OF_TIMES, Margin, Quantity

TimelineT = TypeVar("TimelineT")
PointsT = TypeVar("PointsT")


@dataclass(frozen=True)
class MetricOf(Generic[TimelineT, PointsT]):
    """A number per trial. `measure` returns None if the timeline lacks what it needs; a missing value is never zero."""

    name: str
    label: str
    unit: str
    better: Better
    needs: tuple[str, ...]  # kinds of timeline rows that it reads
    measure: Callable[[TimelineT], float | None]
    summary: str
    compare: Callable[[PointsT, PointsT], float | None] | None = None
    """Used instead of `measure`: takes the points of this trial and of the reference arm's trial in the same round."""
    least_of_reference: float | None = None
    """With `compare`: the least median of the reference's own rounds, in `unit`, with which a verdict is given.

    An arm that is not like itself is nothing that others could be like.
    """
    real_time: bool = False  # has a meaning only if computing takes time: refused in virtual time without processors
    counted: bool = False  # counted by the host's kernel: refused in virtual time
    of_answers: bool = False  # it is about what the client receives: refused where the client uploads
    quantity: Quantity = Quantity.RATIO
    margin: Margin = OF_TIMES
    """Fixed with the metric, before there is data; a study's own `equivalence_margin` comes first for a RATIO."""

    @property
    def difference_unit(self) -> str:
        """The unit of a difference between two values: of shares percentage points, of an index the spread of its
        parts.
        """
        if self.quantity is Quantity.INDEX:
            return "points of spread"
        return "points" if self.unit == "%" else self.unit

    @property
    def effect_unit(self) -> str:
        """The unit of effects and of the margin: % of a RATIO, else `difference_unit`."""
        return "%" if self.quantity is Quantity.RATIO else self.difference_unit


Metric = MetricOf[Any, Any]
"""A metric of any declaration."""


def find_metric(name: str) -> Metric:
    """Return the metric of this name; InputError with the nearest name if there is none."""
    found: Metric = registry.get("metrics", name)
    return found


def margin_of(metric: Metric, analysis: Analysis) -> Margin:
    """Return the margin of equivalence of a metric in a study."""
    own = analysis.equivalence_margin_pct
    if own is None or metric.quantity is not Quantity.RATIO:
        return metric.margin
    return Margin(own, "the study's own")
