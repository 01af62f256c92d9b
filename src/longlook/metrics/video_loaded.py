"""How much of a video arrives."""

from longlook.core.model import Better
from longlook.metrics import Metric
from longlook.timeline.playback import Playback
from longlook.timeline.timeline import Kind, Timeline


def measure(timeline: Timeline) -> float | None:
    """Return the seconds of video that arrived whole while it was watched; None where no video was played."""
    play = Playback.of(timeline)
    return None if play is None else play.loaded_s


METRIC = Metric(
    name="video_loaded",
    label="Video loaded",
    unit="s",
    better=Better.HIGHER,
    needs=(Kind.REQUEST_SENT, Kind.PLAYBACK, Kind.SEGMENT_REQUESTED, Kind.SEGMENT_ARRIVED),
    measure=measure,
    summary="Video: seconds of video that arrived, in whole segments, while it was watched, shown or not.",
)
"""Video loaded."""
