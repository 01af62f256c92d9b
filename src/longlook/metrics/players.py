"""How players that compete share a link."""

from statistics import fmean

from longlook.core import OF_RATES, OF_SHARES, OF_STALLS, Better, Quantity
from longlook.metrics import Metric
from longlook.timeline import Kind, Playback, Timeline


def _bitrate_share(timeline: Timeline) -> float | None:
    """Return the subject's mean bitrate over the sum of it and the competitors', in %; None without competitors."""
    plays = Playback.each(timeline)
    rates = [
        [play.bitrate_bps or 0.0 for group, play in plays if (group == plays[0][0]) is own] for own in (True, False)
    ]
    if not all(rates):
        return None
    own, others = map(fmean, rates)
    return 100 * own / (own + others) if own + others > 0 else None


def _competitor_bitrate(timeline: Timeline) -> float | None:
    """Return the mean bitrate shown by the players outside the first group, in Mbit/s; None without such a player."""
    plays = Playback.each(timeline)
    rates = [play.bitrate_bps or 0.0 for group, play in plays if group != plays[0][0]]
    return fmean(rates) / 1e6 if rates else None


def _competitor_stall_share(timeline: Timeline) -> float | None:
    """Return the mean over the players outside the first group of stalls over stalls and playing, in %."""
    plays = Playback.each(timeline)
    others = [play for group, play in plays if group != plays[0][0]]
    shares = [100 * play.stalled_s / (play.stalled_s + play.played_s) for play in others if play.played_s > 0]
    return fmean(shares) if shares else None


METRICS = (
    Metric(
        name="bitrate_share",
        label="Share of the bitrates",
        unit="%",
        better=Better.HIGHER,
        quantity=Quantity.SHARE,
        margin=OF_SHARES,
        needs=(Kind.REQUEST_SENT, Kind.PLAYBACK, Kind.SEGMENT_REQUESTED, Kind.SEGMENT_ARRIVED),
        measure=_bitrate_share,
        summary="Competing players: mean bitrate shown by the players of the arm's first group, as a share of the sum "
        "of it and the mean of the others. 50 is fair; a player that never shows anything counts with 0.",
    ),
    Metric(
        name="competitor_bitrate",
        label="Bitrate shown by the others",
        unit="Mbit/s",
        better=Better.HIGHER,
        margin=OF_RATES,
        needs=(Kind.REQUEST_SENT, Kind.PLAYBACK, Kind.SEGMENT_REQUESTED, Kind.SEGMENT_ARRIVED),
        measure=_competitor_bitrate,
        summary="Competing players: mean over the players outside the arm's first group of the bitrate that they show. "
        "One that never shows anything counts with 0.",
    ),
    Metric(
        name="competitor_stall_share",
        label="Share of time in stalls of the others",
        unit="%",
        better=Better.LOWER,
        quantity=Quantity.SHARE,
        margin=OF_STALLS,
        needs=(Kind.REQUEST_SENT, Kind.PLAYBACK),
        measure=_competitor_stall_share,
        summary="Competing players: time in stalls as a share of stalls and playing, as a mean over the players "
        "outside the arm's first group that showed something.",
    ),
)
