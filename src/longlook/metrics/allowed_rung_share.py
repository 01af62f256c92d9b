"""How much is seen at the quality that the link has room for."""

from longlook.core.model import Better
from longlook.metrics import Metric
from longlook.timeline.playback import Playback
from longlook.timeline.timeline import Kind, Timeline


def measure(timeline: Timeline) -> float | None:
    """Return the share of what was shown at the best rung that the link allows, or above, in %.

    None where nothing was shown, and where the link's rate is not known beforehand.
    """
    play = Playback.of(timeline)
    if play is None or play.link_bps is None:
        return None
    rates = list(play.rungs_bps.values())
    share = play.shown_from(max((rate for rate in rates if rate <= play.link_bps), default=rates[0]))
    return None if share is None else 100 * share


METRIC = Metric(
    name="allowed_rung_share",
    label="Shown at the rung that the link allows",
    unit="%",
    better=Better.HIGHER,
    needs=(Kind.REQUEST_SENT, Kind.PLAYBACK, Kind.SEGMENT_REQUESTED, Kind.SEGMENT_ARRIVED),
    measure=measure,
    summary=(
        "Video: share of the time shown at the highest rung whose bitrate is no more than the link's mean rate, or "
        "above it; where the link is slower than all, that is the lowest. Headers and losses are not taken off the "
        "rate. Missing where the link's rate is drawn at random."
    ),
)
"""Shown at the rung that the link allows."""
