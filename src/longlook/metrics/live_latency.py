"""How far behind the live edge a viewer is."""

from longlook.core.model import Better
from longlook.metrics import Metric
from longlook.timeline.playback import Playback
from longlook.timeline.timeline import Kind, Timeline


def measure(timeline: Timeline) -> float | None:
    """Return the mean distance of the picture from the live edge while it plays, in s; None where it is not live."""
    play = Playback.of(timeline)
    if play is None or play.live_s == 0 or not (stretches := play.stretches_ns()):
        return None
    shown_ns, weighted = 0, 0.0
    for begin_ns, end_ns in stretches:
        behind_s = play.live_s + (begin_ns - play.began_ns - shown_ns) / 1e9
        weighted += behind_s * (end_ns - begin_ns)
        shown_ns += end_ns - begin_ns
    return weighted / shown_ns


METRIC = Metric(
    name="live_latency",
    label="Distance from the live edge",
    unit="s",
    better=Better.LOWER,
    needs=(Kind.REQUEST_SENT, Kind.PLAYBACK),
    measure=measure,
    summary=(
        "Live video: how long ago what is shown was produced, as a mean over the time in which the video plays. "
        "It begins with the setting `live` and the time to start, and each stall adds its length."
    ),
)
"""Distance from the live edge."""
