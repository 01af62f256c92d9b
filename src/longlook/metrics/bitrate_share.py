"""How competing players divide the quality."""

from statistics import fmean

from longlook.core.model import Better
from longlook.metrics import Metric
from longlook.timeline.playback import Playback
from longlook.timeline.timeline import Kind, Timeline


def measure(timeline: Timeline) -> float | None:
    """Return the subject's mean bitrate over the sum of it and the competitors', in %; None without competitors."""
    plays = Playback.each(timeline)
    rates = [
        [play.bitrate_bps or 0.0 for group, play in plays if (group == plays[0][0]) is own] for own in (True, False)
    ]
    if not all(rates):
        return None
    own, others = map(fmean, rates)
    return 100 * own / (own + others) if own + others > 0 else None


METRIC = Metric(
    name="bitrate_share",
    label="Share of the bitrates",
    unit="%",
    better=Better.HIGHER,
    needs=(Kind.REQUEST_SENT, Kind.PLAYBACK, Kind.SEGMENT_REQUESTED, Kind.SEGMENT_ARRIVED),
    measure=measure,
    summary=(
        "Competing players: mean bitrate shown by the players of the arm's first group, as a share of the sum of it "
        "and the mean of the others. 50 is fair; a player that never shows anything counts with 0."
    ),
)
"""Share of the bitrates."""
