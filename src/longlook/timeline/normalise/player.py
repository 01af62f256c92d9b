"""Lines of a player (adapters/CONTRACT.md, Video) → rows, and what its manifest says."""

from collections.abc import Callable, Mapping
from typing import Any

from longlook.core.model import Vantage
from longlook.timeline.normalise.lines import MAX_UNIX_NS, BadLineError, Line, count, optional_time_ns, text, time_ns
from longlook.timeline.timeline import Kind

STATES = ("started", "stalled", "resumed", "ended")
"""What a viewer sees begin, in `play` lines."""

Add = Callable[[int, Kind, Mapping[str, Any]], None]
_COMMON = {"vantage": Vantage.CLIENT, "priming": False}


def player_events(add: Add, video: dict[str, Any]) -> dict[str, Callable[[Line], None]]:
    """Return what reads each event of a player: it calls `add` with rows, and fills `video`."""

    def manifest(line: Line) -> None:
        rungs = line.get("rungs")
        if not isinstance(rungs, list) or not rungs:
            raise BadLineError("no rungs")
        found = [(text(rung, "name"), count(rung, "bitrate_bps")) for rung in rungs if isinstance(rung, dict)]
        if len(found) != len(rungs) or any(None in pair for pair in found):
            raise BadLineError("a rung without a name or a bitrate")
        video.update(
            quality=text(line, "quality"),
            length_s=_seconds(line, "length_s"),
            segment_s=_seconds(line, "segment_s"),
            **({"live_s": _seconds(line, "live_s")} if line.get("live_s") is not None else {}),
            rungs=[{"name": name, "bitrate_bps": bitrate_bps} for name, bitrate_bps in found],
        )

    def segment(line: Line) -> None:
        asked, arrived, number = time_ns(line, "t_start_ns"), optional_time_ns(line, "t_end_ns"), count(line, "index")
        if number is None:
            raise BadLineError("no index")
        common = {**_COMMON, "name": text(line, "rung"), "sequence": number}
        add(asked, Kind.SEGMENT_REQUESTED, common)
        if arrived is not None and line.get("error") is None:
            rest = {"size_bytes": count(line, "bytes"), "value": _seconds(line, "buffer_s")}
            add(arrived, Kind.SEGMENT_ARRIVED, common | rest)

    def play(line: Line) -> None:
        if (state := text(line, "state")) not in STATES:
            raise BadLineError("no state that is known")
        add(time_ns(line, "t_ns"), Kind.PLAYBACK, {**_COMMON, "name": state, "value": _seconds(line, "position_s")})

    return {"video": manifest, "segment": segment, "play": play}


def _seconds(line: Line, key: str) -> float:
    value = line.get(key)
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value < MAX_UNIX_NS:
        raise BadLineError(f"{key} is no number of seconds")
    return float(value)
