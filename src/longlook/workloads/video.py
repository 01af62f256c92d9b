"""`video`: a player watches a video in segments, at a fixed quality or as a rule chooses."""

from collections.abc import Mapping
from dataclasses import replace

from longlook.core import PLAYER_RULES as RULES
from longlook.core import Content, InputError, Parameter, Scalar, WorkloadKind, units
from longlook.provision import (
    DISTINCT_SEGMENTS,
    LADDER_BPS,
    LENGTH_S,
    MANIFEST_PATH,
    SEGMENTS_S,
    Video,
    encoded_content,
    video_content,
)

CONTENTS = ("noise", "cmaf")
"""The kinds of contents: bytes of declared sizes, or encoded pictures."""

MAX_CONNECTIONS = 64
MAX_RUNGS = 20
MAX_BITRATE_BPS = 200_000_000
MAX_CONTENT_BYTES = 1 << 30
MAX_LENGTH_S = 86_400
MIN_CHUNK_S = 0.02

_NS_PER_S = 1_000_000_000
_LADDER_FORM = f"names of {', '.join(LADDER_BPS)}, or name=bitrate such as low=0.5Mbit, between commas"


def prepare(parameters: Mapping[str, Scalar]) -> Content:
    """Return the manifest, the segments that may be asked for, and what the player is asked to do.

    Raise InputError for a parameter out of bounds, and for parameters that do not fit together.
    """
    ladder, quality = rungs_of(str(parameters["ladder"])), str(parameters["quality"])
    if quality in RULES:
        wanted = ladder
    elif quality in ladder:
        wanted = {quality: ladder[quality]}
    else:
        raise InputError(
            f"workload video: quality = {quality!r} is no rung of the ladder, and no rule",
            f"a rung ({', '.join(ladder)}) or a rule ({', '.join(RULES)})",
        )
    times_s = {
        name: float(parameters[f"{name}_s"]) for name in ("segment", "length", "watch", "start", "resume", "buffer")
    }
    times_s |= {name: float(parameters.get(f"{name}_s", 0)) for name in ("live", "chunk")}
    connections = int(parameters.get("connections", 1))
    video = Video(wanted, *_lengths_ns(times_s), bitrate=_bitrate(parameters), chunks=_chunks(times_s, connections))
    _check_buffer(times_s)
    if video.total_bytes > MAX_CONTENT_BYTES:
        raise InputError(
            f"workload video: its segments have {video.total_bytes / 1e6:.0f} MB",
            f"at most {MAX_CONTENT_BYTES >> 20} MiB: shorter segments, lower bitrates or fewer rungs",
        )
    if not 1 <= connections <= MAX_CONNECTIONS:
        raise InputError(f"workload video: connections = {connections}", f"1 to {MAX_CONNECTIONS}")
    job: dict[str, Scalar] = {
        "manifest": MANIFEST_PATH,
        "quality": quality,
        **{f"{name}_s": times_s[name] for name in ("watch", "start", "resume", "buffer", "live")},
    }
    made = encoded_content if _is_encoded(parameters, video, times_s) else video_content
    return replace(made(video), connections=connections, video=job)


def _is_encoded(parameters: Mapping[str, Scalar], video: Video, times_s: Mapping[str, float]) -> bool:
    """Return whether the files hold pictures; raise InputError if such a video cannot be made."""
    kind = str(parameters.get("content", CONTENTS[0]))
    if kind not in CONTENTS:
        raise InputError(f"workload video: content = {kind!r}", f"one of {', '.join(CONTENTS)}")
    if kind == "noise":
        return False
    others = [name for name, bitrate_bps in video.rungs.items() if LADDER_BPS.get(name) != bitrate_bps]
    refused = {
        f"ladder: {', '.join(others)}": (others, f"names of {', '.join(LADDER_BPS)} alone"),
        f"segment = {times_s['segment']:g}s": (times_s["segment"] not in SEGMENTS_S, "2s or 4s"),
        f"length = {times_s['length']:g}s": (
            times_s["length"] > LENGTH_S,
            f"{LENGTH_S}s at most: so long are the pictures",
        ),
        "live or chunk": (times_s["live"] or times_s["chunk"], "0s: a video with pictures is not live"),
    }
    for setting, (wrong, allowed) in refused.items():
        if wrong:
            raise InputError(f'workload video: {setting} with content = "cmaf"', allowed)
    return True


def rungs_of(ladder: str) -> dict[str, int]:
    """Return name → bit/s of a text such as `tiny, hd720` or `low=0.5Mbit, high=3Mbit`, in ascending order.

    Raise InputError for any other text.
    """
    rungs: dict[str, int] = {}
    for part in (part.strip() for part in ladder.split(",")):
        name, equals, rate = (piece.strip() for piece in part.partition("="))
        if not name.isidentifier() or not name.isascii() or name in rungs or name in RULES:
            raise InputError(
                f"workload video: ladder: {part!r} is no rung", f"{_LADDER_FORM}; each name once, no rule's"
            )
        if equals:
            try:
                bitrate_bps = units.parse_rate(rate)
            except units.UnitError as error:
                raise InputError(f"workload video: ladder: {name}: {error}", _LADDER_FORM) from error
        elif name in LADDER_BPS:
            bitrate_bps = LADDER_BPS[name]
        else:
            raise InputError(f"workload video: ladder: {name!r} has no bitrate", _LADDER_FORM)
        if not 1_000 <= bitrate_bps <= MAX_BITRATE_BPS:
            raise InputError(
                f"workload video: ladder: {name} has {bitrate_bps} bit/s", f"1kbit to {MAX_BITRATE_BPS // 10**6}Mbit"
            )
        rungs[name] = bitrate_bps
    rates = list(rungs.values())
    if len(rungs) > MAX_RUNGS or sorted(set(rates)) != rates:
        raise InputError(
            f"workload video: ladder: {', '.join(rungs)}",
            f"1 to {MAX_RUNGS} rungs, each of a higher bitrate than the last",
        )
    return rungs


def _bitrate(parameters: Mapping[str, Scalar]) -> str:
    bitrate = str(parameters["bitrate"])
    if bitrate not in DISTINCT_SEGMENTS:
        raise InputError(f"workload video: bitrate = {bitrate!r}", f"one of {', '.join(DISTINCT_SEGMENTS)}")
    return bitrate


def _lengths_ns(times_s: Mapping[str, float]) -> tuple[int, int]:
    segment_ns, length_ns = (round(times_s[name] * _NS_PER_S) for name in ("segment", "length"))
    if segment_ns <= 0 or length_ns % segment_ns:
        raise InputError(
            f"workload video: length = {times_s['length']:g}s is not whole segments of {times_s['segment']:g}s",
            "a multiple of segment",
        )
    return segment_ns, length_ns


def _chunks(times_s: Mapping[str, float], connections: int) -> int:
    """Return in how many chunks a segment comes."""
    segment_s, chunk_s, live_s = (times_s[name] for name in ("segment", "chunk", "live"))
    if live_s > times_s["length"]:
        raise InputError(
            f"workload video: live = {live_s:g}s is more than the length, {times_s['length']:g}s",
            "how far behind the live edge the play begins, at most the length; 0s: it is not live",
        )
    if chunk_s == 0:
        return 1
    if chunk_s < MIN_CHUNK_S:
        raise InputError(f"workload video: chunk = {chunk_s:g}s", f"{MIN_CHUNK_S:g}s or more, or 0s: whole segments")
    if live_s == 0 or connections > 1:
        raise InputError(
            f"workload video: chunk = {chunk_s:g}s of a video that is not live, or over {connections} connections",
            "chunks are for live video (live above 0s) over one connection",
        )
    if round(segment_s * _NS_PER_S) % round(chunk_s * _NS_PER_S):
        raise InputError(
            f"workload video: segment = {segment_s:g}s is not whole chunks of {chunk_s:g}s", "a part of segment"
        )
    return round(segment_s * _NS_PER_S) // round(chunk_s * _NS_PER_S)


def _check_buffer(times_s: Mapping[str, float]) -> None:
    piece_s = times_s["chunk"] or times_s["segment"]
    held_s = times_s["buffer"] // piece_s * piece_s
    for name in ("start", "resume", "segment"):
        if times_s[name] > held_s:
            raise InputError(
                f"workload video: {name} = {times_s[name]:g}s is never reached: a buffer of {times_s['buffer']:g}s "
                f"holds {held_s:g}s of whole {'chunks' if times_s['chunk'] else 'segments'}",
                f"a larger buffer, or a shorter {name}",
            )


def _time(help_text: str, default: float, minimum: float = 0.0, maximum: float = MAX_LENGTH_S) -> Parameter:
    return Parameter("time", help_text, default=default, minimum=minimum, maximum=maximum)


WORKLOAD = WorkloadKind(
    name="video",
    summary="a video of length_s in segments, watched for watch_s at a fixed quality or at the one that a rule chooses",
    parameters={
        "quality": Parameter("text", f"a rung of the ladder, or what chooses one: {', '.join(RULES)}"),
        "ladder": Parameter("text", _LADDER_FORM, default=", ".join(LADDER_BPS)),
        "bitrate": Parameter("text", "of all segments of a rung: constant, or variable by scene", default="constant"),
        "content": Parameter(
            "text",
            "what the files hold: noise, or cmaf, pictures encoded for DASH and HLS",
            default=CONTENTS[0],
            omitted_at_default=True,
        ),
        "segment_s": _time("length of a segment", 4, 0.1, 60),
        "length_s": _time("length of the video", 3600, 0.1),
        "watch_s": _time("how long the viewer watches, from the request of the manifest, waiting included", 60, 0.1),
        "start_s": _time("buffer with which playing starts; 0: the first segment", 0),
        "resume_s": _time("buffer with which playing goes on after a stall; 0: the next segment", 0),
        "buffer_s": _time("largest buffer: nothing is asked for that it has no room for", 30, 0.1),
        "live_s": replace(
            _time("the play begins so far behind the live edge; 0: all of the video is there", 0),
            omitted_at_default=True,
        ),
        "chunk_s": replace(
            _time("live: length of the chunks in which a segment comes; 0: whole segments", 0, maximum=60),
            omitted_at_default=True,
        ),
        "connections": Parameter(
            "count",
            "over how many connections each segment is fetched, a part over each",
            default=1,
            minimum=1,
            maximum=MAX_CONNECTIONS,
            omitted_at_default=True,
        ),
    },
    prepare=prepare,
    plays=True,
)
