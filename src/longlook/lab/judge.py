"""What became of a trial, from what its programs did and said. Pure: nothing here touches the machine."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import Any

from longlook.core.job import Content, Expected
from longlook.core.model import ConnectionState, Outcome, Trial

UNSUPPORTED_EXIT = 127
_HTTP_OK = 200
_RULES = ("block", "police", "cutoff", "size_filter", "mtu", "nat")
_SENDERS = {"up": "client", "down": "server"}

Line = Mapping[str, Any]


class Stopped(StrEnum):
    """Why the laboratory stopped waiting."""

    SERVER_STARTED_LATE = "server started late"  # no ready line in time
    CLIENT_STARTED_LATE = "client started late"  # session clients only
    SERVER_ENDED = "server ended"  # before the client was done
    LINK_ENDED = "link ended"
    CLIENT_ENDED = "client ended"  # or said `done`
    CLIENT_HUNG = "client hung"  # still running well after the time limit


class FlowKind(StrEnum):
    """What is asked of a flow."""

    FINITE = "finite"  # every object, as of a trial's only flow
    BULK = "bulk"  # to last until all flows are stopped
    CROSS = "cross"  # cross traffic: not to fail


@dataclass(frozen=True)
class Observations:
    """One program: what it printed, and how it ended by itself (None: it had to be stopped)."""

    lines: Sequence[Line] = ()
    junk: Sequence[str] = ()
    exit_code: int | None = None

    def events(self, event: str) -> list[Line]:
        """The lines of one kind."""
        return [line for line in self.lines if line.get("event") == event]

    def errors(self) -> str:
        """Its `error` lines as text."""
        return "; ".join(str(line.get("reason")) for line in self.events("error"))


@dataclass(frozen=True)
class Case:
    """Everything a judgement rests on."""

    trial: Trial
    content: Content
    stopped: Stopped
    client: Observations = Observations()
    server: Observations = Observations()
    link: Observations = Observations()
    measure_s: float = 0.0
    session: bool = False  # the client stays and says `done` instead of ending
    server_reports_state: bool = True  # if not, the connections that the client reports are the proof
    seen_congestion_controls: frozenset[str] = field(default_factory=frozenset)  # of the kernel's sockets
    kind: FlowKind = FlowKind.FINITE
    flow: str = ""  # its name where there are several
    started: bool = True  # a flow that was to start later may never have


@dataclass(frozen=True)
class Judgement:
    """An outcome; everything but ok has a reason, and mostly a hint."""

    outcome: Outcome
    reason: str | None = None
    hint: str | None = None


def judge_all(cases: Sequence[Case]) -> Judgement:
    """Of several flows the first thing that went wrong, told of the flow at fault; ok when nothing did in any."""
    for case in sorted(cases, key=_blame_order):
        if (found := judge(case)).outcome is not Outcome.OK:
            return replace(found, reason=f"flow {case.flow}: {found.reason}") if case.flow else found
    return Judgement(Outcome.OK)


def _blame_order(case: Case) -> int:
    """How far from being the reason that everything stopped: another flow's end is not its own failure."""
    late = case.stopped is Stopped.SERVER_STARTED_LATE and not case.server.events("ready")
    if case.server.exit_code is not None or late:
        return 0
    if case.client.exit_code is not None and not succeeded(case.client, session=case.session):
        return 1
    return 2 if case.client.exit_code is None else 3


def judge(case: Case) -> Judgement:
    """The first thing that went wrong, in the order of how much it explains; ok when nothing did."""
    if not case.started and _blame_order(case) > 0:
        return Judgement(Outcome.OK)
    for check in (_support, _link, _server, _client, _objects, _protocol, _connections, _congestion_control):
        if (found := check(case)) is not None:
            return found
    return Judgement(Outcome.OK)


def succeeded(client: Observations, *, session: bool) -> bool:
    """Whether a client says that all its objects arrived."""
    if session:
        return any(line.get("ok") is True for line in client.events("done"))
    return client.exit_code == 0


def _support(case: Case) -> Judgement | None:
    for role, evidence, end in (
        ("server", case.server, case.trial.server),
        ("client", case.client, case.trial.client),
    ):
        said_so = any(line.get("supported") is False for line in evidence.events("error"))
        if evidence.exit_code == UNSUPPORTED_EXIT or (said_so and evidence.exit_code is None):
            reason = evidence.errors() or "it does not say what"
            return Judgement(
                Outcome.UNSUPPORTED,
                f"{role} {end.stack} {end.version} does not support this: {reason}",
                "leave this combination out of the study, or choose another stack or version",
            )
    return None


def _link(case: Case) -> Judgement | None:
    if case.stopped is not Stopped.LINK_ENDED:
        return None
    reason = case.link.errors() or _ending(case.link)
    return Judgement(Outcome.INVALID, f"the link emulator stopped in the middle: {reason}", "see link.stderr")


def _server(case: Case) -> Judgement | None:
    server = case.server
    if case.stopped is Stopped.SERVER_STARTED_LATE:
        return Judgement(Outcome.TIMED_OUT, "the server hung: it never said that it is ready", "see server.stderr")
    if case.stopped is not Stopped.SERVER_ENDED:
        return None
    when = "before the client was done" if server.events("ready") else "at its start"
    said = f": {server.errors()}" if server.errors() else ""
    return Judgement(Outcome.FAILED, f"the server ended {when} ({_ending(server)}){said}", "see server.stderr")


def _client(case: Case) -> Judgement | None:
    client = case.client
    if case.stopped is Stopped.CLIENT_STARTED_LATE:
        return Judgement(Outcome.TIMED_OUT, "the client hung: it never said that it is ready", "see client.stderr")
    if case.stopped is Stopped.CLIENT_HUNG:
        reason = f"the client hung: it did not end within its limit of {case.trial.timeout_s:g} s"
        return Judgement(Outcome.TIMED_OUT, reason, "see client.stderr")
    if client.junk:
        return Judgement(
            Outcome.FAILED,
            f"the client printed something that is no JSON line: {client.junk[0]!r}",
            "standard output is for JSON lines only (adapters/CONTRACT.md)",
        )
    if case.kind is not FlowKind.FINITE and client.exit_code is None:
        return _unconnected(case)
    if succeeded(client, session=case.session):
        return None if case.kind is not FlowKind.BULK else _ended_early(case)
    return _failed(case)


def _failed(case: Case) -> Judgement:
    """Of a client that has not got everything."""
    client, limit_s = case.client, case.trial.timeout_s
    arrived = sum(1 for line in client.events("object") if line.get("error") is None)
    if case.measure_s >= limit_s:
        wanted = len(case.content.expected) * case.content.connections
        return Judgement(
            Outcome.TIMED_OUT,
            f"the transfer hung: {arrived} of {wanted} objects had arrived after {limit_s:g} s{_link_said(case.link)}",
            "raise the study's timeout if the link is this slow; see server.stderr",
        )
    reasons = [reason for reason in (client.errors(), _object_errors(client)) if reason]
    said = f": {'; '.join(reasons)}" if reasons else ""
    reason = f"the client failed ({_ending(client)}){said}{_link_said(case.link)}"
    return Judgement(Outcome.FAILED, reason, "see client.stderr")


def _unconnected(case: Case) -> Judgement | None:
    """A competing flow that was stopped, as planned, must at least have had a connection."""
    if case.kind is FlowKind.CROSS or case.client.events("connection") or case.server.events("connection"):
        return None
    reason = f"it had no connection yet when all flows stopped{_link_said(case.link)}"
    return Judgement(Outcome.FAILED, reason, "see client.stderr; or let the flows run for longer")


def _ended_early(case: Case) -> Judgement:
    return Judgement(
        Outcome.FAILED,
        f"it had everything after {case.measure_s:.3g} s, before all flows stopped",
        "the file that never ends was too short for this link: report it",
    )


def _link_said(link: Observations) -> str:
    """What of the link explains that nothing arrived, which its ends cannot know: rules, and a way that is shut.

    Without numbers: one reason in all rounds, so that a report can count it.
    """
    said = []
    for summary in link.events("summary"):
        for direction, sender in _SENDERS.items():
            counters = summary.get(direction, {})
            dropped = [name for name, packets in counters.items() if name.startswith("dropped_") and packets]
            reasons = [name.removeprefix("dropped_") for name in dropped]
            if counters.get("delivered") == 0 and reasons:
                said.append(f"every packet of the {sender} ({', '.join(sorted(reasons))})")
            elif rules := [name for name in reasons if name in _RULES]:
                said.append(f"packets of the {sender} by rule ({', '.join(sorted(rules))})")
    return f"; the link dropped {' and '.join(said)}" if said else ""


def _objects(case: Case) -> Judgement | None:
    if case.kind is not FlowKind.FINITE:
        return None
    objects: dict[str, list[Line]] = {}
    for line in case.client.events("object"):
        objects.setdefault(str(line.get("path")), []).append(line)
    connections = case.content.connections
    for path, expected in case.content.expected.items():
        found = objects.get(path, [{"error": "the client never reported it"}])
        for line in found:
            if (wrong := _wrong_answer(line, expected)) is not None:
                return Judgement(Outcome.FAILED, f"{path}: {wrong}", "see client.jsonl and server.stderr")
        if connections > 1 and len(found) != connections:
            return Judgement(
                Outcome.FAILED,
                f"{path}: the client reported it {len(found)} times, not once for each of {connections} connections",
                "see client.jsonl: every connection fetches every object once",
            )
    for page in case.client.events("page"):
        if page.get("t_loaded_ns") is None:
            return Judgement(Outcome.FAILED, f"the page {page.get('url')} never finished loading", "see client.jsonl")
    return None


def _wrong_answer(line: Line, expected: Expected) -> str | None:
    if line.get("error") is not None:
        return str(line["error"])
    if line.get("status") != _HTTP_OK:
        return f"HTTP status {line.get('status')}"
    if line.get("bytes") != expected.bytes:
        return f"wrong body: {line.get('bytes')} bytes, expected {expected.bytes}"
    if line.get("digest") not in (None, expected.digest):
        return f"wrong body: {line['digest']}, expected {expected.digest}"
    return None


def _protocol(case: Case) -> Judgement | None:
    wanted = case.trial.protocol
    for line in (*case.client.events("object"), *case.client.events("connection"), *case.server.events("connection")):
        if (spoken := line.get("protocol")) != wanted:
            what = line.get("path") or "a connection"
            return Judgement(
                Outcome.INVALID,
                f"{what} used {spoken}, not {wanted}",
                "the client fell back or raced protocols: force the protocol in its adapter",
            )
    return None


def _connections(case: Case) -> Judgement | None:
    if case.kind is FlowKind.CROSS:
        return None
    measured, wanted = list(_measured_connections(case)), case.content.connections
    if len(measured) != wanted:
        return Judgement(
            Outcome.INVALID,
            f"the measured transfer used {len(measured)} connections, not {'one' if wanted == 1 else wanted}"
            if measured
            else f"the {_witness(case)} reported no measured connection, so its state is not proven",
            f"see {_witness(case)}.jsonl; the client must keep all requests on the connections it was told to open",
        )
    for line in measured:
        if not isinstance(line.get("resumed"), bool):
            return Judgement(
                Outcome.INVALID,
                f"the {_witness(case)} does not tell whether the connection was resumed, so its state is not proven",
                "one end must tell: see which stacks do in docs/stacks.md",
            )
        resumed, early = line.get("resumed") is True, line.get("used_0rtt") is True
        state = ConnectionState.ZERO_RTT if early else ConnectionState.RESUMED if resumed else ConnectionState.COLD
        if state is not case.trial.connection:
            return Judgement(
                Outcome.INVALID,
                f"the connection was {state}, declared {case.trial.connection}: the {_witness(case)} says so",
                f"see {_witness(case)}.jsonl; the ticket was not kept, not accepted, or kept when it should not be",
            )
    return None if wanted == 1 else _carriers(case, measured)


def _carriers(case: Case, measured: Sequence[Line]) -> Judgement | None:
    """Whether each of several connections carried every object: the client says by which, the server knows them."""
    own = "remote" if _witness(case) == "server" else "local"
    ports = sorted(_port(line.get(own)) for line in measured)
    for path in case.content.expected:
        carried = sorted(_port(line.get("local")) for line in case.client.events("object") if line.get("path") == path)
        if carried != ports:
            return Judgement(
                Outcome.INVALID,
                f"{path} came over client ports {', '.join(carried)}, but the connections have {', '.join(ports)}",
                "see client.jsonl: `local` of an object is the address of the connection that carried it",
            )
    return None


def _measured_connections(case: Case) -> Iterator[Line]:
    """The server's connections without those that only earned a ticket; the client's where the server tells none.

    A client that reports its connections says which of them primed, by port. Of one that does not, the first primed.
    """
    reported = case.client.events("connection")
    if _witness(case) == "client":
        yield from (line for line in reported if line.get("primes") is not True)
        return
    priming_ports = {_port(line.get("local")) for line in reported if line.get("primes") is True}
    unnamed = 0 if reported or case.trial.connection is ConnectionState.COLD else 1
    for number, line in enumerate(case.server.events("connection")):
        if number >= unnamed and _port(line.get("remote")) not in priming_ports:
            yield line


def _congestion_control(case: Case) -> Judgement | None:
    declared = case.trial.congestion_control
    if declared is None:
        return None
    if case.kind is FlowKind.CROSS and not case.client.events("connection"):
        return None  # it was not yet connected when all stopped
    lines = (*case.server.events("connection"), *case.client.events("connection"))
    said = {line.get("congestion_control") for line in lines} - {None}
    seen = {str(name) for name in said | case.seen_congestion_controls}
    if not seen:
        return Judgement(
            Outcome.INVALID,
            f"nothing proves that {declared} controlled congestion: the connection was over before it could be seen",
            "use a server that reports `congestion_control` in its connection lines",
        )
    if seen != {declared}:
        return Judgement(
            Outcome.INVALID,
            f"congestion control was {', '.join(sorted(seen))}, declared {declared}",
            "a program may have chosen its own: see its knobs",
        )
    return None


def _witness(case: Case) -> str:
    """Who proves a connection's state. Some servers tell of connections that are over, as endless ones never are."""
    silent = case.kind is FlowKind.BULK and not case.server.events("connection")
    return "server" if case.server_reports_state and not silent else "client"


def _object_errors(client: Observations) -> str:
    failed = [line for line in client.events("object") if line.get("error") is not None]
    if not failed:
        return ""
    first = f"{failed[0].get('path')}: {failed[0]['error']}"
    return first if len(failed) == 1 else f"{first} (and {len(failed) - 1} more)"


def _ending(evidence: Observations) -> str:
    if evidence.exit_code is None:
        return "it said so"
    return f"exit code {evidence.exit_code}" if evidence.exit_code >= 0 else f"signal {-evidence.exit_code}"


def _port(address: object) -> str:
    return str(address).rpartition(":")[2]
