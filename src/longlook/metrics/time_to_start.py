"""When a viewer sees the first picture."""

from longlook.core.model import Better
from longlook.metrics import Metric
from longlook.timeline.playback import Playback
from longlook.timeline.timeline import Kind, Timeline


def measure(timeline: Timeline) -> float | None:
    """Return seconds from the request of the manifest to the start of playing; None where nothing was ever shown."""
    play = Playback.of(timeline)
    if play is None or play.started_ns is None:
        return None
    return (play.started_ns - play.began_ns) / 1e9


METRIC = Metric(
    name="time_to_start",
    label="Time to start",
    unit="s",
    better=Better.LOWER,
    needs=(Kind.REQUEST_SENT, Kind.PLAYBACK),
    measure=measure,
    summary=(
        "Video: time from the request of the manifest, issued before the connection opens, to the start of "
        "playing. None where nothing was ever shown."
    ),
)
"""Time to start."""
