"""The observations of a finished trial before its outcome is decided: the input of `judge`.

Pure: nothing here touches the machine or imports `lab.linux`.
"""

import signal
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from longlook.core import Content, Outcome, Scalar, Site, Trial, find_protocol
from longlook.lab.link_log import LinkLog

Line = Mapping[str, Any]

_LONGEST_CHARACTERS = 1000  # of what a program may put into a reason


class Stopped(StrEnum):
    """The reason why the laboratory stopped waiting."""

    SERVER_STARTED_LATE = "server started late"  # no ready line in time
    CLIENT_STARTED_LATE = "client started late"  # session clients only
    SERVER_ENDED = "server ended"  # before the client was done
    PROXY_STARTED_LATE = "proxy started late"
    PROXY_ENDED = "proxy ended"  # before the client was done
    LINK_ENDED = "link ended"
    CLIENT_ENDED = "client ended"  # or printed `done`
    CLIENT_HUNG = "client hung"  # still running well after the time limit


class FlowKind(StrEnum):
    """The kind of work that a flow has to do for its trial to be ok."""

    FINITE = "finite"  # fetch every object, as a trial's only flow does
    BULK = "bulk"  # last until all flows are stopped
    CROSS = "cross"  # cross traffic: it must not fail


@dataclass(frozen=True)
class LeftFile:
    """A file that a client left in place of a line: its size, and its digest ("sha256:…") if it has the right size.

    `problem` says why nothing of it could be read; None if it could be.
    """

    bytes: int | None = None
    digest: str | None = None
    problem: str | None = None


@dataclass(frozen=True)
class OpenedFlow:
    """A connection of a client as the link saw it begin, in ns since 1970; `primes`: it only obtains a ticket; `early`:
    packets of early data came of it.
    """

    client_port: int
    started_ns: int
    primes: bool
    early: bool = False


@dataclass(frozen=True)
class LoadSeen:
    """The load of a client that prints no lines: the files that it left, and when the load was (`lab.loads`).

    `files` are by URL path. Times are in ns since 1970, None if the link saw no such packet. `flows` are all
    connections that the client began, in order of time.
    """

    files: Mapping[str, LeftFile]
    started_ns: int | None = None
    ended_ns: int | None = None
    flows: tuple[OpenedFlow, ...] = ()

    @property
    def measured(self) -> tuple[OpenedFlow, ...]:
        """Return the connections that carried the load: all that do not only obtain a ticket."""
        return tuple(flow for flow in self.flows if not flow.primes)


@dataclass(frozen=True)
class Observations:
    """One program: what it printed, and how it ended by itself (`exit_code` is None if it had to be stopped)."""

    lines: Sequence[Line] = ()
    junk: Sequence[str] = ()  # output that is not JSON lines
    exit_code: int | None = None  # negative: the number of the signal that ended it
    stderr: str = ""  # an excerpt (`stderr.excerpt`) where it ended with an error
    broke: str | None = None  # the limit that it broke, as a sentence without its subject
    output: str = ""  # the end of what it printed, if it ended with an error and may print what it likes
    files: Mapping[str, LeftFile] | None = None  # by URL path, what it left in place of lines; None: it prints lines

    def events(self, event: str) -> list[Line]:
        """Return the lines of one kind, in order."""
        return [line for line in self.lines if line.get("event") == event]

    def errors(self) -> str:
        """Return the reasons of its `error` lines as one text, "" if it printed none."""
        return bounded("; ".join(str(line.get("reason"))[:_LONGEST_CHARACTERS] for line in self.events("error")))

    def cause(self) -> str:
        """Return why it ended, to be put behind a sentence: its `error` lines, else its standard error, else ""."""
        if self.errors():
            return f": {self.errors()}"
        stderr = f"; its stderr: {self.stderr}" if self.stderr else ""
        return f"{stderr}; its output: {self.output}" if self.output else stderr


@dataclass(frozen=True)
class Span:
    """The time in which a program can have seen what it reports, in ns since 1970."""

    begins_ns: int
    ends_ns: int


@dataclass(frozen=True)
class FlowCase:
    """Everything that decides the outcome of one flow of a trial, or of a trial's only flow."""

    trial: Trial
    content: Content
    stopped: Stopped
    client: Observations = Observations()
    server: Observations = Observations()
    link: Observations = Observations()
    proxy: Observations = Observations()
    measure_s: float = 0.0
    session: bool = False  # the client stays and prints `done` instead of ending
    server_reports_state: bool = True  # if not, the connections that the client reports are the proof
    seen_congestion_controls: frozenset[str] = field(default_factory=frozenset)  # of the kernel's sockets
    kind: FlowKind = FlowKind.FINITE
    flow: str = ""  # its name where there are several
    started: bool = True  # False: the trial stopped before this flow's start
    remote: bool = False  # the client is on another machine
    virtual: bool = False  # the trial ran in virtual time
    middle_address: str = ""  # of a proxy
    client_span: Span | None = None  # from the start of its job to its end; None: not known
    server_span: Span | None = None  # from the trial's start to the server's end
    log: LinkLog | None = None  # the flow's packets, of every link that leads to the client
    relayed: bool = False  # the client's packets are those of a relay beside it
    tcp: Mapping[str, Scalar] = field(default_factory=dict)  # the settings of the kernel's TCP, with the flow's own
    clock_moved_ns: int = 0  # how far this machine's clock was set since the client read it first
    site: Site | None = None  # in place of a server of ours; else None
    load: LoadSeen | None = None  # of a client whose files are the proof; None: its lines are

    @property
    def connections(self) -> int:
        """How many connections carry the measured transfer, if all is as declared."""
        per_request = find_protocol(self.trial.protocol).connection_per_request and self.kind is FlowKind.FINITE
        return len(self.content.expected) if per_request else self.content.connections


def signal_name(number: int) -> str:
    """Return the name of a signal, or its number as text if it has none (most real-time signals)."""
    with suppress(ValueError):
        return signal.Signals(number).name
    return str(number)


def bounded(text: str) -> str:
    """Return a program's text as a reason can hold it: at most 1000 characters, every one of them encodable."""
    encodable = text[:_LONGEST_CHARACTERS].encode(errors="replace").decode()
    return encodable if len(text) <= _LONGEST_CHARACTERS else f"{encodable} …"


@dataclass(frozen=True)
class Judgement:
    """An outcome. Every outcome but ok has a reason and a hint.

    `complete`: all programs did their part to the end, though not as declared, so that the guard's observations of the
    laboratory tell whether its disturbance may be the cause.
    """

    outcome: Outcome
    reason: str | None = None
    hint: str | None = None
    complete: bool = False


@dataclass(frozen=True)
class Teardown:
    """The result of taking a testbed down. `clients` and `servers` are in the order of its `flow_runs`."""

    clients: tuple[Observations, ...]
    servers: tuple[Observations, ...]
    link: Observations
    proxy: Observations
    summary: dict[str, Any]  # the links', as one
    counters: Mapping[str, Mapping[str, int]]  # of each link's directions, as in Run
    cpu_s: dict[str, float]  # by role
    modelled_s: dict[str, float]  # by role, of endpoints with processors of their own: what these have worked
    throttling: dict[str, float]  # of a client with a share of a CPU, or of endpoints with processors of their own
    collectors: Mapping[str, str]  # as in Run
    kernel_counts: Mapping[str, Mapping[str, int]]  # as in Run

    @property
    def broke(self) -> bool:
        """Return whether a program broke a limit."""
        return any(seen.broke is not None for seen in (*self.clients, *self.servers, self.proxy))
