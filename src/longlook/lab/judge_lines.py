"""The part of `judge` about what lines hold: times that are times of this trial, counts, numbers of seconds. Pure.

A line that is refused here would otherwise be left out of the measurement silently.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from longlook.core import Outcome
from longlook.lab.observations import FlowCase, Judgement, Line, Observations, Span, bounded

MOST = 2**62
"""Times and counts are below this; differences of two of them fit 64 bits."""

_ACROSS_NETWORK_NS, _OF_A_BROWSER_NS, _IN_REAL_TIME_NS, _IN_VIRTUAL_TIME_NS = (
    100_000_000,
    20_000_000,
    5_000_000,
    100_000,
)
_LONGEST_VALUE = 60  # characters
_HINT = "see {file}; adapters/CONTRACT.md has what each line holds"


def clock_bound_ns(case: FlowCase) -> int:
    """Return by how much the client's times may differ from the laboratory's and the link's, in ns.

    Programs read the monotonic clock, anchored once; in real time one may lose its CPU between two readings. Browsers
    round their times, and the clock of another machine is known to 50 ms.
    """
    if case.remote:
        return _ACROSS_NETWORK_NS
    if case.session:
        return _OF_A_BROWSER_NS
    return _IN_VIRTUAL_TIME_NS if case.virtual and not case.trial.processors else _IN_REAL_TIME_NS


class Needed:
    """When a field must have a value: each returns whether it must, given the case and the line."""

    @staticmethod
    def always(_case: FlowCase, _line: Line) -> bool:
        """Return True."""
        return True

    @staticmethod
    def never(_case: FlowCase, _line: Line) -> bool:
        """Return False."""
        return False

    @staticmethod
    def arrived(_case: FlowCase, line: Line) -> bool:
        """Return whether the line is of an answer that arrived."""
        return line.get("error") is None

    @staticmethod
    def arrived_at_a_program(case: FlowCase, line: Line) -> bool:
        """Return whether the line is of an answer that arrived at a client that sees all of it: no browser does."""
        return line.get("error") is None and not case.session

    @staticmethod
    def at_a_program(case: FlowCase, _line: Line) -> bool:
        """Return whether the client is no browser, which does not report everything."""
        return not case.session

    @staticmethod
    def segment_arrived(_case: FlowCase, line: Line) -> bool:
        """Return whether the line is of a segment that arrived before the viewer left."""
        return line.get("error") is None and line.get("t_end_ns") is not None


TIME, COUNT, SECONDS = "time in ns since 1970", "count", "number of seconds"


@dataclass(frozen=True)
class Field:
    """A value of a line: a time, a count or a number of seconds; null if it is not known, unless it is needed."""

    name: str
    kind: str
    needed: Callable[[FlowCase, Line], bool]


_CONNECTION = (Field("t_start_ns", TIME, Needed.at_a_program), Field("t_handshake_ns", TIME, Needed.never))
_PAGE = (
    Field("t_start_ns", TIME, Needed.always),
    Field("t_first_byte_ns", TIME, Needed.never),
    Field("t_loaded_ns", TIME, Needed.never),
    Field("t_first_contentful_paint_ns", TIME, Needed.never),
    Field("t_largest_contentful_paint_ns", TIME, Needed.never),
)

CLIENT_FIELDS: Mapping[str, tuple[Field, ...]] = {
    "connection": _CONNECTION,
    "object": (
        Field("t_start_ns", TIME, Needed.arrived),
        Field("t_first_byte_ns", TIME, Needed.arrived_at_a_program),
        Field("t_end_ns", TIME, Needed.arrived),
        Field("bytes", COUNT, Needed.arrived),
        Field("status", COUNT, Needed.arrived),
    ),
    "page": _PAGE,
    "earlier_load": tuple(Field(field.name, field.kind, Needed.never) for field in _PAGE),
    "move": (Field("t_start_ns", TIME, Needed.always), Field("t_end_ns", TIME, Needed.never)),
    "path": (
        Field("t_start_ns", TIME, Needed.always),
        Field("received_bytes", COUNT, Needed.never),
        Field("sent_bytes", COUNT, Needed.never),
    ),
    "video": (
        Field("length_s", SECONDS, Needed.always),
        Field("segment_s", SECONDS, Needed.always),
        Field("live_s", SECONDS, Needed.never),
    ),
    "segment": (
        Field("index", COUNT, Needed.always),
        Field("t_start_ns", TIME, Needed.always),
        Field("t_end_ns", TIME, Needed.never),
        Field("bytes", COUNT, Needed.segment_arrived),
        Field("buffer_s", SECONDS, Needed.segment_arrived),
    ),
    "play": (
        Field("t_ns", TIME, Needed.always),
        Field("position_s", SECONDS, Needed.always),
        Field("buffer_s", SECONDS, Needed.never),
    ),
    "echo": (
        Field("payload_bytes", COUNT, Needed.always),
        Field("tries", COUNT, Needed.always),
        Field("t_start_ns", TIME, Needed.always),
        Field("t_answer_ns", TIME, Needed.never),
        Field("t_end_ns", TIME, Needed.always),
    ),
    "live": (
        Field("t_start_ns", TIME, Needed.always),
        Field("t_source_ns", TIME, Needed.arrived),
        Field("t_end_ns", TIME, Needed.always),
        *(Field(name, COUNT, Needed.always) for name in ("frames", "completed", "bytes")),
    ),
    "frames": (
        Field("first", COUNT, Needed.always),
        Field("t_first_ns", TIME, Needed.always),
        Field("interval_ns", COUNT, Needed.always),
        Field("bytes", COUNT, Needed.always),
    ),
}
"""Event of a client → its fields."""

SERVER_FIELDS: Mapping[str, tuple[Field, ...]] = {
    "connection": (Field("t_handshake_ns", TIME, Needed.never),),
    "upload": (
        Field("t_start_ns", TIME, Needed.always),
        Field("t_end_ns", TIME, Needed.arrived),
        Field("bytes", COUNT, Needed.always),
    ),
    "source": (
        Field("t_start_ns", TIME, Needed.always),
        Field("t_end_ns", TIME, Needed.always),
        *(Field(name, COUNT, Needed.always) for name in ("frames", "sent", "reset", "dropped", "bytes")),
    ),
}
"""Event of a server → its fields."""

IN_ORDER: Mapping[str, tuple[tuple[str, ...], ...]] = {
    "connection": (("t_start_ns", "t_handshake_ns"),),
    "object": (("t_start_ns", "t_end_ns"), ("t_start_ns", "t_first_byte_ns", "t_end_ns")),
    "upload": (("t_start_ns", "t_end_ns"),),
    "page": (
        ("t_start_ns", "t_loaded_ns"),
        ("t_start_ns", "t_first_byte_ns", "t_loaded_ns"),
        ("t_start_ns", "t_first_contentful_paint_ns"),
        ("t_start_ns", "t_largest_contentful_paint_ns"),
    ),
    "move": (("t_start_ns", "t_end_ns"),),
    "segment": (("t_start_ns", "t_end_ns"),),
    "echo": (("t_start_ns", "t_answer_ns", "t_end_ns"),),
    "live": (("t_start_ns", "t_source_ns", "t_end_ns"),),
    "source": (("t_start_ns", "t_end_ns"),),
}
"""Event → names of times that do not decrease. If there is a first byte among them, a browser's times may be off by
their rounding.
"""


def lines(case: FlowCase) -> Judgement | None:
    """Check that every value of every line is one, and every time one of this trial."""
    found = _wrong(case, case.client, CLIENT_FIELDS, case.client_span)
    if (wrong := next(found, None)) is not None:
        return _failed("client", wrong)
    if (wrong := next(_wrong(case, case.server, SERVER_FIELDS, case.server_span), None)) is not None:
        return _failed("server", wrong)
    return None


def _failed(role: str, wrong: str) -> Judgement:
    return Judgement(Outcome.FAILED, bounded(f"the {role} printed {wrong}"), _HINT.format(file=f"{role}.jsonl"))


def _wrong(
    case: FlowCase, program: Observations, known: Mapping[str, tuple[Field, ...]], span: Span | None
) -> Iterator[str]:
    """Yield what is wrong with the lines of a program, with the line and the field."""
    for number, line in enumerate(program.lines, 1):
        event = line.get("event")
        fields = known.get(event, ()) if isinstance(event, str) else ()
        for field in fields:
            if (reason := _wrong_value(case, line, field, span)) is not None:
                yield f"a line `{event}` (line {number}) whose {field.name} {reason}"
                return
        if fields and (reason := _disorder(case, line, str(event))) is not None:
            yield f"a line `{event}` (line {number}) whose {reason}"
            return


def _wrong_value(case: FlowCase, line: Line, field: Field, span: Span | None) -> str | None:
    value = line.get(field.name)
    if value is None:
        return f"is missing: it must be a {field.kind}" if field.needed(case, line) else None
    if not _is_one(value, field.kind):
        return f"is {_shown(value)}, no {field.kind}"
    if field.kind == TIME and span is not None:
        return _outside(int(value), span, clock_bound_ns(case))
    return None


def _is_one(value: Any, kind: str) -> bool:
    if isinstance(value, bool):
        return False
    if kind == SECONDS:
        return isinstance(value, int | float) and 0 <= value < MOST
    return isinstance(value, int) and 0 <= value < MOST


def _outside(time_ns: int, span: Span, bound_ns: int) -> str | None:
    """Return by how much a time lies outside of the time in which its program ran, None if it lies within."""
    if (early_ns := span.begins_ns - time_ns) > bound_ns:
        return f"lies {early_ns / 1e9:.6g} s before the program was started for this trial"
    if (late_ns := time_ns - span.ends_ns) > bound_ns:
        return f"lies {late_ns / 1e9:.6g} s after the program had ended"
    return None


def _disorder(case: FlowCase, line: Line, event: str) -> str | None:
    """Return which time comes before one that it must not precede, None if all are in order."""
    for names in IN_ORDER.get(event, ()):
        known = [(name, line[name]) for name in names if line.get(name) is not None]
        slack_ns = clock_bound_ns(case) if case.session and len(names) > 2 else 0
        for (before, earlier_ns), (name, later_ns) in pairwise(known):
            if later_ns < earlier_ns - slack_ns:
                return f"{name} lies {(earlier_ns - later_ns) / 1e9:.6g} s before its {before}"
    return None


def _shown(value: Any) -> str:
    """Return a value as a reason can hold it: short, and every character of it encodable."""
    try:
        text = repr(value)
    except (RecursionError, ValueError):  # nested too deeply; an integer of more digits than Python prints
        text = f"a {type(value).__name__}"
    return text if len(text) <= _LONGEST_VALUE else f"{text[:_LONGEST_VALUE]} …"
