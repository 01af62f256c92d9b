"""The stalls of other players."""

from statistics import fmean

from longlook.core.model import Better
from longlook.metrics import Metric
from longlook.timeline.playback import Playback
from longlook.timeline.timeline import Kind, Timeline


def measure(timeline: Timeline) -> float | None:
    """Return the mean over the players outside the first group of stalls over stalls and playing, in %."""
    plays = Playback.each(timeline)
    others = [play for group, play in plays if group != plays[0][0]]
    shares = [100 * play.stalled_s / (play.stalled_s + play.played_s) for play in others if play.played_s > 0]
    return fmean(shares) if shares else None


METRIC = Metric(
    name="competitor_stall_share",
    label="Share of time in stalls of the others",
    unit="%",
    better=Better.LOWER,
    needs=(Kind.REQUEST_SENT, Kind.PLAYBACK),
    measure=measure,
    summary=(
        "Competing players: time in stalls as a share of stalls and playing, as a mean over the players outside the "
        "arm's first group that showed something."
    ),
)
"""Share of time in stalls of the others."""
