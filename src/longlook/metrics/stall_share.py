"""The share of watching that is waiting."""

from longlook.core.model import Better
from longlook.metrics import Metric
from longlook.timeline.playback import Playback
from longlook.timeline.timeline import Kind, Timeline


def measure(timeline: Timeline) -> float | None:
    """Return stalls over stalls and playing together, in %; None where nothing was ever shown."""
    play = Playback.of(timeline)
    if play is None or play.started_ns is None or play.stalled_s + play.played_s == 0:
        return None
    return 100 * play.stalled_s / (play.stalled_s + play.played_s)


METRIC = Metric(
    name="stall_share",
    label="Share of time in stalls",
    unit="%",
    better=Better.LOWER,
    needs=(Kind.REQUEST_SENT, Kind.PLAYBACK),
    measure=measure,
    summary=(
        "Video: time in stalls as a share of stalls and playing together: the rebuffer rate of Langley et "
        "al. 2017, and the ratio of buffering to playing of Kakhki et al. 2017. The wait for the start is "
        "in neither."
    ),
)
"""Share of time in stalls."""
