"""How soon an echo is answered."""

from statistics import median

from longlook.core.model import Better
from longlook.metrics import Metric
from longlook.timeline.echoing import tried
from longlook.timeline.timeline import Kind, Timeline


def measure(timeline: Timeline) -> float | None:
    """Return the median over the answered sizes in s; None where none was."""
    times_ns = [each.answer_after_ns for each in tried(timeline) if each.answer_after_ns is not None]
    return median(times_ns) / 1e9 if times_ns else None


METRIC = Metric(
    name="first_answer_time",
    label="Time to the first answer",
    unit="s",
    better=Better.LOWER,
    needs=(Kind.ECHO_STARTED, Kind.ECHO_ANSWERED),
    measure=measure,
    summary="Echo: time from the first try of a size to its first answer, the median over the sizes that had one. "
    "Over QUIC it includes the handshake.",
)
"""Time to the first answer."""
