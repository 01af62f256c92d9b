"""How often a video stops."""

from longlook.core.model import Better
from longlook.metrics import Metric
from longlook.timeline.playback import Playback
from longlook.timeline.timeline import Kind, Timeline


def measure(timeline: Timeline) -> float | None:
    """Return how often playing stopped because the buffer was empty; None where nothing was ever shown."""
    play = Playback.of(timeline)
    return None if play is None or play.started_ns is None else float(len(play.stalls_ns))


METRIC = Metric(
    name="stalls",
    label="Stalls",
    unit="stalls",
    better=Better.LOWER,
    needs=(Kind.REQUEST_SENT, Kind.PLAYBACK),
    measure=measure,
    summary=(
        "Video: how often playing stopped because the buffer was empty (rebufferings). The wait for the "
        "start is none. None where nothing was ever shown."
    ),
)
"""Stalls."""
