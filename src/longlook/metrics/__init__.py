"""What is measured. One file per metric, each defining METRIC: a pure function of a trial's timeline."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from longlook.core import registry
from longlook.core.model import Better
from longlook.timeline.timeline import Timeline

if TYPE_CHECKING:
    from longlook.timeline.envelope import Points


@dataclass(frozen=True)
class Metric:
    """A number per trial. `measure` returns None where the timeline lacks what it needs; missing is never zero."""

    name: str
    label: str
    unit: str
    better: Better
    needs: tuple[str, ...]  # kinds of timeline rows that it reads, where there are any
    measure: Callable[[Timeline], float | None]
    summary: str
    compare: "Callable[[Points, Points], float | None] | None" = None
    """Instead of `measure`: of this trial's points and those of the reference arm's trial in the same round."""
    real_time: bool = False  # means something only where CPU costs time: refused in virtual time


def find_metric(name: str) -> Metric:
    """Return the metric of this name; InputError with the nearest name where there is none."""
    found: Metric = registry.get("metrics", name)
    return found
