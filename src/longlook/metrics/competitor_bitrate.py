"""The quality that is left to other players."""

from statistics import fmean

from longlook.core.model import Better
from longlook.metrics import Metric
from longlook.timeline.playback import Playback
from longlook.timeline.timeline import Kind, Timeline


def measure(timeline: Timeline) -> float | None:
    """Return the mean bitrate shown by the players outside the first group, in Mbit/s; None where there is none."""
    plays = Playback.each(timeline)
    rates = [play.bitrate_bps or 0.0 for group, play in plays if group != plays[0][0]]
    return fmean(rates) / 1e6 if rates else None


METRIC = Metric(
    name="competitor_bitrate",
    label="Bitrate shown by the others",
    unit="Mbit/s",
    better=Better.HIGHER,
    needs=(Kind.REQUEST_SENT, Kind.PLAYBACK, Kind.SEGMENT_REQUESTED, Kind.SEGMENT_ARRIVED),
    measure=measure,
    summary=(
        "Competing players: mean over the players outside the arm's first group of the bitrate that they show. "
        "One that never shows anything counts with 0."
    ),
)
"""Bitrate shown by the others."""
