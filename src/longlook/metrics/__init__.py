"""Metrics: a trial's timeline → one number. Each file defines one `METRIC` or a family, `METRICS`; nothing lists them.

`find_metric(name)` returns a `Metric`. `make generate` writes docs/reference/metrics.md of them.
"""

from typing import TYPE_CHECKING, TypeAlias

from longlook.core import MetricOf, find_metric
from longlook.timeline import Timeline

if TYPE_CHECKING:
    from longlook.timeline import Points

__all__ = ["Metric", "find_metric"]

Metric: TypeAlias = MetricOf[Timeline, "Points"]
