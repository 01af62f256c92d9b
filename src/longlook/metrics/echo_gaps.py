"""Sizes that pass although smaller ones do not."""

from longlook.core.model import Better
from longlook.metrics import Metric
from longlook.timeline.echoing import tried
from longlook.timeline.timeline import Kind, Timeline


def measure(timeline: Timeline) -> float | None:
    """Return how many sizes were answered beyond the first that was not; None where nothing was tried."""
    sizes = tried(timeline)
    if not sizes:
        return None
    passed = [each.answer_after_ns is not None for each in sizes]
    return float(sum(passed[passed.index(False) :])) if False in passed else 0.0


METRIC = Metric(
    name="echo_gaps",
    label="Sizes answered beyond the first that was not",
    unit="sizes",
    better=Better.LOWER,
    needs=(Kind.ECHO_STARTED, Kind.ECHO_ANSWERED),
    measure=measure,
    summary="Echo: how many sizes were answered although a smaller one was not: 0 where a path has one largest size, "
    "so that `usable_payload` says everything.",
)
"""Sizes answered beyond the first that was not."""
