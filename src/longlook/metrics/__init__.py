"""Metrics: a trial's timeline → one number. Each file defines one `METRIC` or a family, `METRICS`; nothing lists them.

`registry.get("metrics", name)` returns a `Metric`. `make generate` writes docs/reference/metrics.md of them.
"""

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
    """A number per trial. `measure` returns None if the timeline lacks what it needs; a missing value is never zero."""

    name: str
    label: str
    unit: str
    better: Better
    needs: tuple[str, ...]  # kinds of timeline rows that it reads
    measure: Callable[[Timeline], float | None]
    summary: str
    compare: "Callable[[Points, Points], float | None] | None" = None
    """Used instead of `measure`: takes the points of this trial and of the reference arm's trial in the same round."""
    least_of_reference: float | None = None
    """With `compare`: what the reference must reach in the median of its own rounds, in `unit`. Below it no verdict is
    given, as an arm that is not like itself is nothing that others could be like.
    """
    real_time: bool = False  # has a meaning only if computing takes time: refused in virtual time without processors
    counted: bool = False  # counted by the host's kernel: refused in virtual time


def find_metric(name: str) -> Metric:
    """Return the metric of this name; InputError with the nearest name where there is none."""
    found: Metric = registry.get("metrics", name)
    return found
