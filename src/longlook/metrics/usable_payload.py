"""The largest payload that a path carries there and back."""

from longlook.core.model import Better
from longlook.metrics import Metric
from longlook.timeline.echoing import tried
from longlook.timeline.timeline import Kind, Timeline


def measure(timeline: Timeline) -> float | None:
    """Return the largest UDP payload in bytes up to which every size was answered; None where the smallest was not."""
    usable: float | None = None
    for each in tried(timeline):
        if each.answer_after_ns is None:
            break
        usable = float(each.payload_bytes)
    return usable


METRIC = Metric(
    name="usable_payload",
    label="Usable payload",
    unit="B",
    better=Better.HIGHER,
    needs=(Kind.ECHO_STARTED, Kind.ECHO_ANSWERED),
    measure=measure,
    summary="Echo: the largest UDP payload that was answered, with every smaller one of the sweep answered, too. None "
    "where the smallest was not. `echo_gaps` counts larger ones that were answered all the same.",
)
"""Usable payload."""
