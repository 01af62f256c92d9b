"""The quality at the end."""

from longlook.core.model import Better
from longlook.metrics import Metric
from longlook.timeline.playback import Playback
from longlook.timeline.timeline import Kind, Timeline


def measure(timeline: Timeline) -> float | None:
    """Return the number of the rung that was shown last, the lowest being 1; None where nothing was shown."""
    play = Playback.of(timeline)
    shown = [] if play is None else play.shown()
    if play is None or not shown:
        return None
    return 1.0 + list(play.rungs_bps).index(shown[-1][0].rung)


METRIC = Metric(
    name="final_rung",
    label="Last rung",
    unit="rung",
    better=Better.HIGHER,
    needs=(Kind.REQUEST_SENT, Kind.PLAYBACK, Kind.SEGMENT_REQUESTED, Kind.SEGMENT_ARRIVED),
    measure=measure,
    summary=(
        "Video: number of the rung that was shown last; the lowest of the manifest is 1. A video of fixed "
        "quality has one rung."
    ),
)
"""Last rung."""
