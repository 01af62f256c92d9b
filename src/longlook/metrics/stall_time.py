"""How long a video stands still."""

from longlook.core.model import Better
from longlook.metrics import Metric
from longlook.timeline.playback import Playback
from longlook.timeline.timeline import Kind, Timeline


def measure(timeline: Timeline) -> float | None:
    """Return the seconds of all stalls together; None where nothing was ever shown."""
    play = Playback.of(timeline)
    return None if play is None or play.started_ns is None else play.stalled_s


METRIC = Metric(
    name="stall_time",
    label="Time in stalls",
    unit="s",
    better=Better.LOWER,
    needs=(Kind.REQUEST_SENT, Kind.PLAYBACK),
    measure=measure,
    summary=(
        "Video: seconds of all stalls together; one that lasts to the end of the watching is counted up to there."
    ),
)
"""Time in stalls."""
