"""Lines of an echo's client (adapters/CONTRACT.md, Echo) → rows."""

from collections.abc import Callable, Mapping
from typing import Any

from longlook.core.model import Vantage
from longlook.timeline.normalise.lines import BadLineError, Line, count, optional_time_ns, text, time_ns
from longlook.timeline.timeline import Kind

Add = Callable[[int, Kind, Mapping[str, Any]], None]


def echo_events(add: Add) -> dict[str, Callable[[Line], None]]:
    """Return what reads each event of an echo: it calls `add` with rows."""

    def echo(line: Line) -> None:
        payload_bytes, tries = count(line, "payload_bytes"), count(line, "tries")
        if payload_bytes is None or tries is None:
            raise BadLineError("no payload_bytes or no tries")
        answered, given_up = optional_time_ns(line, "t_answer_ns"), optional_time_ns(line, "t_end_ns")
        common = {"vantage": Vantage.CLIENT, "priming": False, "size_bytes": payload_bytes}
        started = time_ns(line, "t_start_ns")
        if answered is None and given_up is None:
            raise BadLineError("neither t_answer_ns nor t_end_ns")
        add(started, Kind.ECHO_STARTED, common)
        if answered is not None:
            add(answered, Kind.ECHO_ANSWERED, common | {"value": float(tries)})
        elif given_up is not None:
            add(given_up, Kind.ECHO_UNANSWERED, common | {"value": float(tries), "detail": text(line, "refused")})

    return {"echo": echo}
