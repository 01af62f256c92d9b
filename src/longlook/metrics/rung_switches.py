"""How restless the quality is."""

from longlook.core.model import Better
from longlook.metrics import Metric
from longlook.timeline.playback import Playback
from longlook.timeline.timeline import Kind, Timeline


def measure(timeline: Timeline) -> float | None:
    """Return how often the rung of what was shown changed; None where nothing was shown."""
    play = Playback.of(timeline)
    return None if play is None or not play.shown() else float(play.switches())


METRIC = Metric(
    name="rung_switches",
    label="Changes of rung",
    unit="switches",
    better=Better.LOWER,
    needs=(Kind.REQUEST_SENT, Kind.PLAYBACK, Kind.SEGMENT_REQUESTED, Kind.SEGMENT_ARRIVED),
    measure=measure,
    summary="Video: how often the rung changed from one segment that was shown to the next.",
)
"""Changes of rung."""
