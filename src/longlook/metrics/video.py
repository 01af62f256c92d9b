"""How a video plays."""

from itertools import pairwise

from longlook.core import OF_RATES, OF_SHARES, OF_STALLS, Better, Margin, Quantity
from longlook.metrics import Metric
from longlook.timeline import Kind, Playback, Timeline


def _time_to_start(timeline: Timeline) -> float | None:
    """Return seconds from the request of the manifest to the start of playing; None if nothing was ever shown."""
    play = Playback.of(timeline)
    if play is None or play.started_ns is None:
        return None
    return (play.started_ns - play.began_ns) / 1e9


def _stalls(timeline: Timeline) -> float | None:
    """Return how often playing stopped because the buffer was empty; None if nothing was ever shown."""
    play = Playback.of(timeline)
    return None if play is None or play.started_ns is None else float(len(play.stalls_ns))


def _stall_time(timeline: Timeline) -> float | None:
    """Return the seconds of all stalls together; None if nothing was ever shown."""
    play = Playback.of(timeline)
    return None if play is None or play.started_ns is None else play.stalled_s


def _stall_rate(timeline: Timeline) -> float | None:
    """Return stalls per second of video that was shown; None if nothing was."""
    play = Playback.of(timeline)
    return None if play is None or play.played_s == 0 else len(play.stalls_ns) / play.played_s


def _stall_share(timeline: Timeline) -> float | None:
    """Return stalls over stalls and playing together, in %; None if nothing was ever shown."""
    play = Playback.of(timeline)
    if play is None or play.started_ns is None or play.stalled_s + play.played_s == 0:
        return None
    return 100 * play.stalled_s / (play.stalled_s + play.played_s)


def _video_bitrate(timeline: Timeline) -> float | None:
    """Return the mean declared bitrate of what was shown, in Mbit/s, by time; None if nothing was."""
    play = Playback.of(timeline)
    return None if play is None or play.bitrate_bps is None else play.bitrate_bps / 1e6


def _rung_switches(timeline: Timeline) -> float | None:
    """Return how often the rung of what was shown changed; None if nothing was shown."""
    play = Playback.of(timeline)
    return None if play is None or not play.shown() else float(play.switches())


def _final_rung(timeline: Timeline) -> float | None:
    """Return the number of the rung that was shown last, the lowest being 1; None if nothing was shown."""
    play = Playback.of(timeline)
    shown = [] if play is None else play.shown()
    if play is None or not shown:
        return None
    return 1.0 + list(play.rungs_bps).index(shown[-1][0].rung)


def _best_rung_share(timeline: Timeline) -> float | None:
    """Return the share of what was shown that has the highest rung, in %; None if nothing was shown."""
    play = Playback.of(timeline)
    shown = [] if play is None else play.shown()
    if play is None or not shown:
        return None
    best = list(play.rungs_bps)[-1]
    return 100 * sum(s for part, s in shown if part.rung == best) / sum(s for _, s in shown)


def _allowed_rung_share(timeline: Timeline) -> float | None:
    """Return the share of what was shown at the best rung that the link allows, or above, in %.

    None if nothing was shown, or if the link's rate is not known beforehand.
    """
    play = Playback.of(timeline)
    if play is None or play.link_bps is None:
        return None
    rates = list(play.rungs_bps.values())
    share = play.shown_from(max((rate for rate in rates if rate <= play.link_bps), default=rates[0]))
    return None if share is None else 100 * share


def _buffer_level(timeline: Timeline) -> float | None:
    """Return the mean buffer over the watching, in s; None if no video was played to the end."""
    play = Playback.of(timeline)
    if play is None or play.ended_ns <= play.began_ns:
        return None
    seconds = [play.segment_s * (play.ended_ns - segment.arrived_ns) for segment in play.segments]
    shown = [(end - begin) / 1e9 * ((end - begin) / 2 + play.ended_ns - end) for begin, end in play.stretches_ns()]
    return (sum(seconds) - sum(shown)) / (play.ended_ns - play.began_ns)


def _live_latency(timeline: Timeline) -> float | None:
    """Return the mean distance of the picture from the live edge while it plays, in s; None if it is not live."""
    play = Playback.of(timeline)
    if play is None or play.live_s == 0 or not (stretches := play.stretches_ns()):
        return None
    shown_ns, weighted = 0, 0.0
    for begin_ns, end_ns in stretches:
        behind_s = play.live_s + (begin_ns - play.began_ns - shown_ns) / 1e9
        weighted += behind_s * (end_ns - begin_ns)
        shown_ns += end_ns - begin_ns
    return weighted / shown_ns


def _video_loaded(timeline: Timeline) -> float | None:
    """Return the seconds of video that arrived whole while it was watched; None if no video was played."""
    play = Playback.of(timeline)
    return None if play is None else play.loaded_s


SWITCHING = 1.0
"""Weight of a Mbit/s of change between neighbouring segments (Yin et al. 2015, balanced)."""

WAITING_MBPS = 3.0
"""The weight of a second of stalls, and also of a second of waiting for the start."""


def _video_qoe(timeline: Timeline) -> float | None:
    """Return the linear model of Yin et al. 2015 per segment shown, in Mbit/s; None if nothing was shown."""
    play = Playback.of(timeline)
    shown = [] if play is None else play.shown()
    if play is None or play.started_ns is None or not shown:
        return None
    rates = [play.rungs_bps[part.rung] / 1e6 for part, _ in shown]
    changed = sum(abs(after - before) for before, after in pairwise(rates))
    waited_s = play.stalled_s + (play.started_ns - play.began_ns) / 1e9
    return (sum(rates) - SWITCHING * changed - WAITING_MBPS * waited_s) / len(rates)


METRICS = (
    Metric(
        name="time_to_start",
        label="Time to start",
        unit="s",
        better=Better.LOWER,
        needs=(Kind.REQUEST_SENT, Kind.PLAYBACK),
        measure=_time_to_start,
        summary="Video: time from the request of the manifest, issued before the connection opens, to the start of "
        "playing. None if nothing was ever shown.",
    ),
    Metric(
        name="stalls",
        label="Stalls",
        unit="stalls",
        better=Better.LOWER,
        quantity=Quantity.COUNT,
        margin=Margin(0.1, "a stall in ten videos"),
        needs=(Kind.REQUEST_SENT, Kind.PLAYBACK),
        measure=_stalls,
        summary="Video: how often playing stopped because the buffer was empty (rebufferings). The wait for the "
        "start is none. None if nothing was ever shown.",
    ),
    Metric(
        name="stall_time",
        label="Time in stalls",
        unit="s",
        better=Better.LOWER,
        quantity=Quantity.AMOUNT,
        margin=Margin(0.1, "a tenth of a second is felt as no wait (Miller, AFIPS 1968)"),
        needs=(Kind.REQUEST_SENT, Kind.PLAYBACK),
        measure=_stall_time,
        summary="Video: seconds of all stalls together; one that lasts to the end of the watching is counted up to "
        "there.",
    ),
    Metric(
        name="stall_rate",
        label="Stalls per second played",
        unit="1/s",
        better=Better.LOWER,
        quantity=Quantity.AMOUNT,
        margin=Margin(0.001, "a stall in a thousand seconds played"),
        needs=(Kind.REQUEST_SENT, Kind.PLAYBACK),
        measure=_stall_rate,
        summary="Video: stalls for each second of video that was shown.",
    ),
    Metric(
        name="stall_share",
        label="Share of time in stalls",
        unit="%",
        better=Better.LOWER,
        quantity=Quantity.SHARE,
        margin=OF_STALLS,
        needs=(Kind.REQUEST_SENT, Kind.PLAYBACK),
        measure=_stall_share,
        summary="Video: time in stalls as a share of stalls and playing together: the rebuffer rate of Langley et "
        "al. 2017, and the ratio of buffering to playing of Kakhki et al. 2017. The wait for the start is "
        "in neither.",
    ),
    Metric(
        name="video_bitrate",
        label="Bitrate shown",
        unit="Mbit/s",
        better=Better.HIGHER,
        margin=OF_RATES,
        needs=(Kind.REQUEST_SENT, Kind.PLAYBACK, Kind.SEGMENT_REQUESTED, Kind.SEGMENT_ARRIVED),
        measure=_video_bitrate,
        summary="Video: mean of the declared bitrates of the rungs that were shown, weighted by how long each was.",
    ),
    Metric(
        name="rung_switches",
        label="Changes of rung",
        unit="switches",
        better=Better.LOWER,
        quantity=Quantity.COUNT,
        margin=Margin(0.5, "a change in two videos"),
        needs=(Kind.REQUEST_SENT, Kind.PLAYBACK, Kind.SEGMENT_REQUESTED, Kind.SEGMENT_ARRIVED),
        measure=_rung_switches,
        summary="Video: how often the rung changed from one segment that was shown to the next.",
    ),
    Metric(
        name="final_rung",
        label="Last rung",
        unit="rung",
        better=Better.HIGHER,
        quantity=Quantity.COUNT,
        margin=Margin(0.1, "a rung in ten videos"),
        needs=(Kind.REQUEST_SENT, Kind.PLAYBACK, Kind.SEGMENT_REQUESTED, Kind.SEGMENT_ARRIVED),
        measure=_final_rung,
        summary="Video: number of the rung that was shown last; the lowest of the manifest is 1. A video of fixed "
        "quality has one rung.",
    ),
    Metric(
        name="best_rung_share",
        label="Shown at the highest rung",
        unit="%",
        better=Better.HIGHER,
        quantity=Quantity.SHARE,
        margin=OF_SHARES,
        needs=(Kind.REQUEST_SENT, Kind.PLAYBACK, Kind.SEGMENT_REQUESTED, Kind.SEGMENT_ARRIVED),
        measure=_best_rung_share,
        summary="Video: share of the time shown that has the highest rung of the manifest. It is the optimal rate "
        "of Langley et al. 2017 where the ladder ends with what fits the screen and the link.",
    ),
    Metric(
        name="allowed_rung_share",
        label="Shown at the rung that the link allows",
        unit="%",
        better=Better.HIGHER,
        quantity=Quantity.SHARE,
        margin=OF_SHARES,
        needs=(Kind.REQUEST_SENT, Kind.PLAYBACK, Kind.SEGMENT_REQUESTED, Kind.SEGMENT_ARRIVED),
        measure=_allowed_rung_share,
        summary="Video: share of the time shown at the highest rung whose bitrate is no more than the link's mean "
        "rate, or above it; where the link is slower than all, that is the lowest. Headers and losses are not "
        "taken off the rate. Missing where the link's rate is drawn at random.",
    ),
    Metric(
        name="buffer_level",
        label="Buffer",
        unit="s",
        better=Better.HIGHER,
        needs=(Kind.REQUEST_SENT, Kind.PLAYBACK, Kind.SEGMENT_REQUESTED, Kind.SEGMENT_ARRIVED),
        measure=_buffer_level,
        summary="Video: seconds of video that have arrived and are not shown yet, as a mean over the time from the "
        "request of the manifest to the end; `longlook trace convert --to play` has them over time.",
    ),
    Metric(
        name="live_latency",
        label="Distance from the live edge",
        unit="s",
        better=Better.LOWER,
        needs=(Kind.REQUEST_SENT, Kind.PLAYBACK),
        measure=_live_latency,
        summary="Live video: how long ago what is shown was produced, as a mean over the time in which the video "
        "plays. It begins with the setting `live` and the time to start, and each stall adds its length.",
    ),
    Metric(
        name="video_loaded",
        label="Video loaded",
        unit="s",
        better=Better.HIGHER,
        margin=OF_RATES,
        needs=(Kind.REQUEST_SENT, Kind.PLAYBACK, Kind.SEGMENT_REQUESTED, Kind.SEGMENT_ARRIVED),
        measure=_video_loaded,
        summary="Video: seconds of video that arrived, in whole segments, while it was watched, shown or not.",
    ),
    Metric(
        name="video_qoe",
        label="Quality of experience",
        unit="Mbit/s",
        better=Better.HIGHER,
        quantity=Quantity.AMOUNT,
        margin=Margin(0.05, "a sixtieth of a second of stalls for each segment, by the model's own weight of 3"),
        needs=(Kind.REQUEST_SENT, Kind.PLAYBACK, Kind.SEGMENT_REQUESTED, Kind.SEGMENT_ARRIVED),
        measure=_video_qoe,
        summary="Video: the linear model of Yin et al., SIGCOMM 2015, with its balanced weights, per segment shown. "
        "It is the sum over these segments of their bitrates in Mbit/s, less every change between neighbours, "
        "less 3 for each second of stalls and of the wait for the start.",
    ),
)
