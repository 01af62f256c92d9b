"""The share of an echo's sizes that were answered."""

from longlook.core.model import Better
from longlook.metrics import Metric
from longlook.timeline.echoing import tried
from longlook.timeline.timeline import Kind, Timeline


def measure(timeline: Timeline) -> float | None:
    """Return the share in %; None where nothing was tried."""
    sizes = tried(timeline)
    if not sizes:
        return None
    return 100.0 * sum(each.answer_after_ns is not None for each in sizes) / len(sizes)


METRIC = Metric(
    name="answered",
    label="Sizes answered",
    unit="%",
    better=Better.HIGHER,
    needs=(Kind.ECHO_STARTED, Kind.ECHO_ANSWERED),
    measure=measure,
    summary="Echo: share of the sizes tried to which at least one of the tries brought an answer. A size that the "
    "kernel refuses to send is one without an answer.",
)
"""Sizes answered."""
