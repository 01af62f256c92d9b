"""Metrics: a trial's timeline → one number. Each file defines one `METRIC` or a family, `METRICS`; nothing lists them.

`find_metric(name)` returns a `Metric`. `make generate` writes docs/reference/metrics.md of them.
"""

from typing import TYPE_CHECKING, TypeAlias

from longlook.core.metric import MetricOf, find_metric
from longlook.timeline.timeline import Timeline

if TYPE_CHECKING:
    from longlook.timeline.envelope import Points

__all__ = ["Metric", "find_metric"]

Metric: TypeAlias = MetricOf[Timeline, "Points"]
