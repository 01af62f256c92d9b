"""How much is seen at the best quality."""

from longlook.core.model import Better
from longlook.metrics import Metric
from longlook.timeline.playback import Playback
from longlook.timeline.timeline import Kind, Timeline


def measure(timeline: Timeline) -> float | None:
    """Return the share of what was shown that has the highest rung, in %; None where nothing was shown."""
    play = Playback.of(timeline)
    shown = [] if play is None else play.shown()
    if play is None or not shown:
        return None
    best = list(play.rungs_bps)[-1]
    return 100 * sum(s for part, s in shown if part.rung == best) / sum(s for _, s in shown)


METRIC = Metric(
    name="best_rung_share",
    label="Shown at the highest rung",
    unit="%",
    better=Better.HIGHER,
    needs=(Kind.REQUEST_SENT, Kind.PLAYBACK, Kind.SEGMENT_REQUESTED, Kind.SEGMENT_ARRIVED),
    measure=measure,
    summary=(
        "Video: share of the time shown that has the highest rung of the manifest. It is the optimal rate "
        "of Langley et al. 2017 where the ladder ends with what fits the screen and the link."
    ),
)
"""Shown at the highest rung."""
