"""How much video is loaded ahead of the picture."""

from longlook.core.model import Better
from longlook.metrics import Metric
from longlook.timeline.playback import Playback
from longlook.timeline.timeline import Kind, Timeline


def measure(timeline: Timeline) -> float | None:
    """Return the mean buffer over the watching, in s; None where no video was played to the end."""
    play = Playback.of(timeline)
    if play is None or play.ended_ns <= play.began_ns:
        return None
    seconds = [play.segment_s * (play.ended_ns - segment.arrived_ns) for segment in play.segments]
    shown = [(end - begin) / 1e9 * ((end - begin) / 2 + play.ended_ns - end) for begin, end in play.stretches_ns()]
    return (sum(seconds) - sum(shown)) / (play.ended_ns - play.began_ns)


METRIC = Metric(
    name="buffer_level",
    label="Buffer",
    unit="s",
    better=Better.HIGHER,
    needs=(Kind.REQUEST_SENT, Kind.PLAYBACK, Kind.SEGMENT_REQUESTED, Kind.SEGMENT_ARRIVED),
    measure=measure,
    summary=(
        "Video: seconds of video that have arrived and are not shown yet, as a mean over the time from the request of "
        "the manifest to the end; `longlook trace convert --to play` has them over time."
    ),
)
"""Buffer."""
