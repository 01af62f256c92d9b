"""The quality that a viewer sees."""

from longlook.core.model import Better
from longlook.metrics import Metric
from longlook.timeline.playback import Playback
from longlook.timeline.timeline import Kind, Timeline


def measure(timeline: Timeline) -> float | None:
    """Return the mean declared bitrate of what was shown, in Mbit/s, by time; None where nothing was."""
    play = Playback.of(timeline)
    return None if play is None or play.bitrate_bps is None else play.bitrate_bps / 1e6


METRIC = Metric(
    name="video_bitrate",
    label="Bitrate shown",
    unit="Mbit/s",
    better=Better.HIGHER,
    needs=(Kind.REQUEST_SENT, Kind.PLAYBACK, Kind.SEGMENT_REQUESTED, Kind.SEGMENT_ARRIVED),
    measure=measure,
    summary=("Video: mean of the declared bitrates of the rungs that were shown, weighted by how long each was."),
)
"""Bitrate shown."""
