"""A proof of what plays a video in a page: each player asks for the first segment in its own way."""

from collections.abc import Mapping

from longlook.core import Workload
from longlook.instruments.conformance.checks import Check, CheckFinding, verdict
from longlook.instruments.conformance.evidence import Line, Seen
from longlook.instruments.conformance.links import path
from longlook.instruments.conformance.proofs.ask import Ask

_RTT_S = 0.04
_WORKLOAD = Workload(
    "video",
    {
        "quality": "tiny",
        "ladder": "tiny",
        "content": "cmaf",
        "bitrate": "constant",
        "segment_s": 2.0,
        "length_s": 8.0,
        "watch_s": 3.0,
        "buffer_s": 6.0,
        "start_s": 0.0,
        "resume_s": 0.0,
    },
)
_FIRST = ("/video/tiny/init.mp4", "/video/tiny/000.m4s")


def player(ask: Ask) -> Check:
    """See whether the first segment is asked for at once (shaka), or when its initialisation is there (dash.js)."""

    def judge(waited: Mapping[str, bool]) -> CheckFinding:
        text = ", ".join(
            f"{name}: the first segment {'after' if late else 'beside'} its initialisation"
            for name, late in waited.items()
        )
        return verdict(waited == {"shaka": False, "dash.js": True}, text)

    values = {str(name): name for name in ask.knob.choices}
    return ask.compare(values, _waits, judge, link=path(20, _RTT_S), workload=_WORKLOAD)


def _waits(seen: Seen) -> bool | None:
    """Return whether the first segment was asked for when the initialisation was there; None if one is missing."""
    asked: dict[str, Line] = {str(line.get("path")): line for line in seen.events("client", "object")}
    initial, segment = (asked.get(name, {}) for name in _FIRST)
    if initial.get("t_end_ns") is None or segment.get("t_start_ns") is None:
        return None
    return bool(segment["t_start_ns"] >= initial["t_end_ns"])


PROOFS = {"player": player}
