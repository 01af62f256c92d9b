"""How often a video stops for each second that is seen."""

from longlook.core.model import Better
from longlook.metrics import Metric
from longlook.timeline.playback import Playback
from longlook.timeline.timeline import Kind, Timeline


def measure(timeline: Timeline) -> float | None:
    """Return stalls per second of video that was shown; None where nothing was."""
    play = Playback.of(timeline)
    return None if play is None or play.played_s == 0 else len(play.stalls_ns) / play.played_s


METRIC = Metric(
    name="stall_rate",
    label="Stalls per second played",
    unit="1/s",
    better=Better.LOWER,
    needs=(Kind.REQUEST_SENT, Kind.PLAYBACK),
    measure=measure,
    summary="Video: stalls for each second of video that was shown.",
)
"""Stalls per second played."""
