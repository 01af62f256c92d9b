"""The events that a program of each kind can print (adapters/CONTRACT.md, Lines), and the lines that it cannot. Pure.

A line of another kind's vocabulary is no slip: nothing of such a program prints it, so somebody else may have.
"""

from collections.abc import Callable, Iterator, Mapping
from enum import StrEnum

from longlook.core import MULTIPATH, Outcome, has_second_address
from longlook.lab.observations import FlowCase, FlowKind, Judgement, Line, Observations, bounded

_HINT = "see {file}; adapters/CONTRACT.md lists what each kind of program prints"


class ProgramKind(StrEnum):
    """The kind of a program, as the job that it was given makes it."""

    CLIENT = "client"
    SESSION_CLIENT = "session client"
    PLAYER = "player"
    SESSION_PLAYER = "session client that plays"
    ECHO_CLIENT = "client of an echo"
    VIEWER = "client of a live source"
    CROSS_TRAFFIC_CLIENT = "client of cross traffic"
    SERVER = "server"
    PROXY = "proxy"


_ANY = frozenset({"connection", "error"})
_FETCHES = _ANY | {"object", "move", "path"}
_PLAYS = _FETCHES | {"video", "segment", "play"}
_SESSION = frozenset({"ready", "done"})

VOCABULARY: Mapping[ProgramKind, frozenset[str]] = {
    ProgramKind.CLIENT: _FETCHES,
    ProgramKind.SESSION_CLIENT: _FETCHES | _SESSION | {"page", "earlier_load"},
    ProgramKind.PLAYER: _PLAYS,
    ProgramKind.SESSION_PLAYER: _PLAYS | _SESSION,
    ProgramKind.ECHO_CLIENT: _ANY | {"echo"},
    ProgramKind.VIEWER: _ANY | {"live", "frames"},
    ProgramKind.CROSS_TRAFFIC_CLIENT: _FETCHES,
    ProgramKind.SERVER: _ANY | {"ready", "upload", "source"},
    ProgramKind.PROXY: _ANY | {"ready"},
}
"""Kind of program → the events that it can print."""

EVENTS = frozenset().union(*VOCABULARY.values())
"""Every event that is known. Others are nobody's, and ignored."""

_ONCE = ("page", "video", "live", "done")
"""The lines that a client prints at most once for a job."""


def client_kind(case: FlowCase) -> ProgramKind:
    """Return the kind of a case's client."""
    if case.content.echo is not None:
        return ProgramKind.ECHO_CLIENT
    if case.content.live is not None:
        return ProgramKind.VIEWER
    if case.content.video:
        return ProgramKind.SESSION_PLAYER if case.session else ProgramKind.PLAYER
    if case.kind is FlowKind.CROSS:
        return ProgramKind.CROSS_TRAFFIC_CLIENT
    return ProgramKind.SESSION_CLIENT if case.session else ProgramKind.CLIENT


def vocabulary(case: FlowCase) -> Judgement | None:
    """Check that each program printed only what its kind can print, and the client no end twice."""
    kinds = (("client", case.client, client_kind(case)), ("server", case.server, ProgramKind.SERVER))
    for role, program, kind in (*kinds, ("proxy", case.proxy, ProgramKind.PROXY)):
        if (foreign := next(_foreign(case, program, kind), None)) is not None:
            return Judgement(
                Outcome.FAILED, bounded(f"the {role} printed {foreign}"), _HINT.format(file=f"{role}.jsonl")
            )
    for event in _ONCE:
        if (times := len(case.client.events(event))) > 1:
            reason = f"the client printed {times} lines `{event}`, of which a job has one"
            return Judgement(Outcome.FAILED, reason, _HINT.format(file="client.jsonl"))
    return None


def _foreign(case: FlowCase, program: Observations, kind: ProgramKind) -> Iterator[str]:
    for number, line in enumerate(program.lines, 1):
        event = line.get("event")
        if not isinstance(event, str):
            yield f"a line without an event (line {number})"
        elif event in EVENTS and event not in VOCABULARY[kind]:
            yield f"a line `{event}` (line {number}), which no {kind} can print"
        elif event in _NEEDED and kind not in (ProgramKind.SERVER, ProgramKind.PROXY) and not _NEEDED[event](case):
            yield f"a line `{event}` (line {number}), though nothing in its job can lead to one"
        elif event == "object" and (path := _unasked(case, line)) is not None:
            yield f"a line `object` (line {number}) of {path!r}, for which it was never asked"


_NEEDED: Mapping[str, Callable[[FlowCase], bool]] = {
    "move": lambda case: has_second_address(case.trial),
    "path": lambda case: MULTIPATH in case.trial.client.knobs,
    "earlier_load": lambda case: "memory" in case.trial.client.knobs,
}
"""Event → whether the client's job can lead to it."""


def _unasked(case: FlowCase, line: Line) -> str | None:
    """Return the path of an object that the client's job does not have, None if it has it.

    A request that a page makes beside its job is reported with an error; a player names its requests by more than the
    path.
    """
    path = line.get("path")
    known = isinstance(path, str) and path in case.content.expected
    return None if case.content.video or known or line.get("error") is not None else str(path)
