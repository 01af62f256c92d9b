"""One number for a play of a video."""

from itertools import pairwise

from longlook.core.model import Better
from longlook.metrics import Metric
from longlook.timeline.playback import Playback
from longlook.timeline.timeline import Kind, Timeline

SWITCHING = 1.0
"""Weight of a Mbit/s of change between neighbouring segments (Yin et al. 2015, balanced)."""
WAITING_MBPS = 3.0
"""Weight of a second of stalls, and of one of waiting for the start (the same)."""


def measure(timeline: Timeline) -> float | None:
    """Return the linear model of Yin et al. 2015 per segment shown, in Mbit/s; None where nothing was shown."""
    play = Playback.of(timeline)
    shown = [] if play is None else play.shown()
    if play is None or play.started_ns is None or not shown:
        return None
    rates = [play.rungs_bps[part.rung] / 1e6 for part, _ in shown]
    changed = sum(abs(after - before) for before, after in pairwise(rates))
    waited_s = play.stalled_s + (play.started_ns - play.began_ns) / 1e9
    return (sum(rates) - SWITCHING * changed - WAITING_MBPS * waited_s) / len(rates)


METRIC = Metric(
    name="video_qoe",
    label="Quality of experience",
    unit="Mbit/s",
    better=Better.HIGHER,
    needs=(Kind.REQUEST_SENT, Kind.PLAYBACK, Kind.SEGMENT_REQUESTED, Kind.SEGMENT_ARRIVED),
    measure=measure,
    summary=(
        "Video: the linear model of Yin et al., SIGCOMM 2015, with its balanced weights, per segment shown. It is the "
        "sum over these segments of their bitrates in Mbit/s, less every change between neighbours, less 3 for each "
        "second of stalls and of the wait for the start."
    ),
)
