"""The events that a program of each kind can print (adapters/CONTRACT.md, Lines), and the lines that it cannot. Pure.

A line of another kind's vocabulary is no slip: nothing of such a program prints it, so somebody else may have.
"""

from collections.abc import Callable, Iterator, Mapping
from enum import StrEnum

from longlook.core.flows import MULTIPATH, has_second_address
from longlook.core.model import Outcome
from longlook.lab.judgement import Judgement
from longlook.lab.observations import Case, FlowKind, Line, Observations, bounded

_HINT = "see {file}; adapters/CONTRACT.md lists what each kind of program prints"


class Kind(StrEnum):
    """The kind of a program, as the job that it was given makes it."""

    CLIENT = "client"
    SESSION_CLIENT = "session client"
    PLAYER = "player"
    SESSION_PLAYER = "session client that plays"
    ECHO_CLIENT = "client of an echo"
    CROSS_TRAFFIC_CLIENT = "client of cross traffic"
    SERVER = "server"
    PROXY = "proxy"


_ANY = frozenset({"connection", "error"})
_FETCHES = _ANY | {"object", "move", "path"}
_PLAYS = _FETCHES | {"video", "segment", "play"}
_SESSION = frozenset({"ready", "done"})

VOCABULARY: Mapping[Kind, frozenset[str]] = {
    Kind.CLIENT: _FETCHES,
    Kind.SESSION_CLIENT: _FETCHES | _SESSION | {"page", "earlier_load"},
    Kind.PLAYER: _PLAYS,
    Kind.SESSION_PLAYER: _PLAYS | _SESSION,
    Kind.ECHO_CLIENT: _ANY | {"echo"},
    Kind.CROSS_TRAFFIC_CLIENT: _FETCHES,
    Kind.SERVER: _ANY | {"ready"},
    Kind.PROXY: _ANY | {"ready"},
}
"""Kind of program → the events that it can print."""

EVENTS = frozenset().union(*VOCABULARY.values())
"""Every event that is known. Others are nobody's, and ignored."""

_ONCE = ("page", "video", "done")
"""What a client prints at most once for a job."""


def client_kind(case: Case) -> Kind:
    """Return the kind of a case's client."""
    if case.content.echo is not None:
        return Kind.ECHO_CLIENT
    if case.content.video:
        return Kind.SESSION_PLAYER if case.session else Kind.PLAYER
    if case.kind is FlowKind.CROSS:
        return Kind.CROSS_TRAFFIC_CLIENT
    return Kind.SESSION_CLIENT if case.session else Kind.CLIENT


def vocabulary(case: Case) -> Judgement | None:
    """Check that each program printed only what its kind can print, and the client no end twice."""
    kinds = (("client", case.client, client_kind(case)), ("server", case.server, Kind.SERVER))
    for role, program, kind in (*kinds, ("proxy", case.proxy, Kind.PROXY)):
        if (foreign := next(_foreign(case, program, kind), None)) is not None:
            return Judgement(
                Outcome.FAILED, bounded(f"the {role} printed {foreign}"), _HINT.format(file=f"{role}.jsonl")
            )
    for event in _ONCE:
        if (times := len(case.client.events(event))) > 1:
            reason = f"the client printed {times} lines `{event}`, of which a job has one"
            return Judgement(Outcome.FAILED, reason, _HINT.format(file="client.jsonl"))
    return None


def _foreign(case: Case, program: Observations, kind: Kind) -> Iterator[str]:
    for number, line in enumerate(program.lines, 1):
        event = line.get("event")
        if not isinstance(event, str):
            yield f"a line without an event (line {number})"
        elif event in EVENTS and event not in VOCABULARY[kind]:
            yield f"a line `{event}` (line {number}), which no {kind} can print"
        elif event in _NEEDED and kind not in (Kind.SERVER, Kind.PROXY) and not _NEEDED[event](case):
            yield f"a line `{event}` (line {number}), though nothing in its job can lead to one"
        elif event == "object" and (path := _unasked(case, line)) is not None:
            yield f"a line `object` (line {number}) of {path!r}, for which it was never asked"


_NEEDED: Mapping[str, Callable[[Case], bool]] = {
    "move": lambda case: has_second_address(case.trial),
    "path": lambda case: MULTIPATH in case.trial.client.knobs,
    "earlier_load": lambda case: "memory" in case.trial.client.knobs,
}
"""Event → whether the client's job can lead to it."""


def _unasked(case: Case, line: Line) -> str | None:
    """Return the path of an object that the client's job does not have, None where it has it.

    What a page asks for beside its job is reported with an error; a player names its requests by more than the path.
    """
    path = line.get("path")
    known = isinstance(path, str) and path in case.content.expected
    return None if case.content.video or known or line.get("error") is not None else str(path)
