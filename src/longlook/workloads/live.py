"""`live`: a source that produces a frame at each interval, whatever the path takes, and a client that measures each."""

from collections.abc import Mapping
from dataclasses import replace

from longlook.core import Content, InputError, Parameter, Scalar, WorkloadKind, live
from longlook.provision import make_content

LEAST_INTERVAL_S, LONGEST_INTERVAL_S = 0.001, 10
LONGEST_S, LONGEST_DRAIN_S = 600, 60
LEAST_BPS, MOST_BPS = 1_000, 1_000_000_000
MOST_KEY_FRAMES_APART, MOST_KEY_FACTOR = 10_000, 100


def prepare(parameters: Mapping[str, Scalar]) -> Content:
    """Return what the server is asked to produce; it has no files to serve.

    Raise InputError for a parameter out of bounds, and for parameters that do not fit together.
    """
    for name, parameter in WORKLOAD.parameters.items():
        value, low, high = float(parameters[name]), parameter.minimum or 0, parameter.maximum or 0
        if not low <= value <= high:
            raise InputError(f"workload live: {name} = {value:g}", f"{low:g} to {high:g}")
    check(parameters)
    return replace(make_content("live", {}, lambda _to: ()), live=live.source_of(parameters))


def check(parameters: Mapping[str, Scalar]) -> None:
    """Raise InputError for parameters that are within their bounds, but do not fit together."""
    every, factor = int(parameters["key_frame_every"]), int(parameters["key_frame_factor"])
    if factor > 1 and every < 2:
        raise InputError(
            f"workload live: key_frame_factor = {factor} has no effect: no frame is another kind than the others",
            "set key_frame_every to 2 or more, or leave key_frame_factor out",
        )
    interval_s, length_s = float(parameters["frame_interval_s"]), float(parameters["length_s"])
    source = live.source_of(parameters)
    if not 1 <= source.frames <= live.MOST_FRAMES:
        raise InputError(
            f"workload live: {source.frames} frames in length = {length_s:g}s at frame_interval = {interval_s:g}s",
            f"1 to {live.MOST_FRAMES} frames",
        )
    largest = max(source.frame_bytes, source.key_frame_bytes)
    if source.frame_bytes < 1:
        raise InputError(
            f"workload live: a frame of rate = {int(parameters['rate_bps'])} bit/s every {interval_s:g}s has no byte",
            "a higher rate, a longer frame_interval, or smaller key frames",
        )
    if largest > live.LARGEST_FRAME_BYTES:
        raise InputError(
            f"workload live: a frame of {largest} bytes",
            f"at most {live.LARGEST_FRAME_BYTES}, which {live.MOST_FRAGMENTS} datagrams carry: a shorter frame_interval"
            ", a lower rate or smaller key frames",
        )
    if source.total_bytes > live.MOST_SOURCE_BYTES:
        raise InputError(
            f"workload live: {source.total_bytes} bytes in all",
            f"at most {live.MOST_SOURCE_BYTES}: a shorter length or a lower rate",
        )
    deadline_s, drop_after_s = float(parameters["deadline_s"]), float(parameters["drop_after_s"])
    if 0 < drop_after_s < deadline_s:
        raise InputError(
            f"workload live: drop_after = {drop_after_s:g}s gives up frames that would come in time",
            f"at least the deadline, here {deadline_s:g}s, or 0s: never",
        )


WORKLOAD = WorkloadKind(
    name="live",
    summary="a live source: the server produces a frame at each interval, and the client measures when it is whole",
    parameters={
        "rate_bps": Parameter("rate", "mean bit rate of the frames", minimum=LEAST_BPS, maximum=MOST_BPS),
        "frame_interval_s": Parameter(
            "time",
            "from one frame to the next",
            default=0.04,
            minimum=LEAST_INTERVAL_S,
            maximum=LONGEST_INTERVAL_S,
        ),
        "length_s": Parameter("time", "how long frames are produced", default=10, minimum=0.1, maximum=LONGEST_S),
        "key_frame_every": Parameter(
            "count", "every so many frames one is a key frame; 0: none", default=0, maximum=MOST_KEY_FRAMES_APART
        ),
        "key_frame_factor": Parameter(
            "count",
            "a key frame has so many times the bytes of another; the mean rate stays",
            default=1,
            minimum=1,
            maximum=MOST_KEY_FACTOR,
        ),
        "deadline_s": Parameter(
            "time", "a frame that is whole later than this is late", default=0.4, minimum=0.001, maximum=LONGEST_S
        ),
        "drop_after_s": Parameter(
            "time",
            "a frame that has not left whole by then is given up, if it has a stream or datagrams of its own; 0: never",
            default=0,
            maximum=LONGEST_S,
        ),
        "drain_s": Parameter(
            "time",
            "after the last frame's interval; then both ends give up what has not arrived",
            default=2,
            maximum=LONGEST_DRAIN_S,
        ),
    },
    prepare=prepare,
    live=True,
)
