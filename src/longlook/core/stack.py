"""Stacks: what each one can do, how it is installed and how its programs are called.

One file per stack, each defining STACK. The agent imports these files too, inside a guest, so they import nothing
heavy; `install` may import what it likes when it is called.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from difflib import get_close_matches
from typing import Any

from longlook.core import codec
from longlook.core.errors import InputError
from longlook.core.job import Identity, Program
from longlook.core.model import ConnectionState, Scalar


@dataclass(frozen=True)
class Version:
    """A release of a stack that was seen working here. None: as the stack declares for all."""

    name: str
    released: str  # ISO date of its publication; empty where what is installed decides
    protocols: tuple[str, ...] | None = None
    connections: tuple[ConnectionState, ...] | None = None
    note: str = ""  # what a comparison should know of it


@dataclass(frozen=True)
class Knob:
    """A declared setting of a program. Names that several stacks share mean the same (adapters/CONTRACT.md)."""

    kind: type[int] | type[float] | type[bool] | type[str]
    unit: str | None
    default: Scalar | None  # None: the stack's own
    help: str
    roles: tuple[str, ...] = ("server", "client")
    choices: tuple[Scalar, ...] = ()
    minimum: float | None = None
    maximum: float | None = None
    since: str | None = None  # the oldest version that has it; None: all have
    until: str | None = None  # the newest that has it
    protocols: tuple[str, ...] = ()  # for which it means something; none named: all of the stack's
    window_after_loss: Mapping[str, float] = field(default_factory=dict)
    """Of a congestion control's choices: the share of the window that one loss leaves, where it is not the RFCs'."""
    lasting_loss: Mapping[str, int] = field(default_factory=dict)
    """Of a congestion control's choices: packets lost at once that cut the window, where fewer are forgiven."""


@dataclass(frozen=True)
class Command:
    """A program to start: full argument list and what it needs in its environment beside the laboratory's own."""

    argv: tuple[str, ...]
    env: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class ServerJob:
    """Serve `www` on `address:port` with `protocol` until SIGTERM."""

    protocol: str
    address: str
    port: int
    www: str
    identity: Identity
    knobs: Mapping[str, Scalar]


def server_arguments(job: ServerJob) -> tuple[str, ...]:
    """The order as the arguments that our own adapters take (adapters/CONTRACT.md)."""
    identity = job.identity
    where = ("--address", job.address, "--port", str(job.port), "--www", job.www)
    trust = ("--certificate", identity.certificate, "--key", identity.key)
    knobs = tuple(part for name, value in sorted(job.knobs.items()) for part in ("--knob", f"{name}={_text(value)}"))
    return ("server", "--protocol", job.protocol, *where, *trust, *knobs)


def _text(value: Scalar) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


@dataclass(frozen=True)
class ClientJob:
    """Fetch `phases` from https://`identity.host`:`port` at `address`; also the line of JSON a session client reads."""

    protocol: str
    connection: ConnectionState
    address: str
    port: int
    phases: tuple[tuple[str, ...], ...]
    identity: Identity
    knobs: Mapping[str, Scalar]
    timeout_s: float
    connections: int = 1  # opened at the same moment; each fetches all phases

    def data(self) -> dict[str, Any]:
        """The job as plain JSON data. `connections` is there only where it asks for something: most know one."""
        entries: dict[str, Any] = codec.encode(self)
        if self.connections == 1:
            del entries["connections"]
        return entries


@dataclass(frozen=True)
class Stack:
    """A stack: one program, or a pair of programs, that can be a server, a client or both.

    A `session` client is started once, stays warm between trials, reads one ClientJob per line on its standard input
    and answers with the lines of adapters/CONTRACT.md, ending in `done`. Other clients get their ClientJob as a file.
    `install(version)` returns the program, building or fetching it when it is not in the cache.
    """

    name: str
    summary: str
    roles: tuple[str, ...]
    protocols: tuple[str, ...]
    connections: tuple[ConnectionState, ...]
    versions: tuple[Version, ...]  # known ones, oldest first; the last is the default
    knobs: Mapping[str, Knob]
    log_formats: tuple[str, ...]
    install: Callable[[str], Program]
    server_command: Callable[[Program, ServerJob], Command] | None = None
    client_command: Callable[[Program, str], Command] | None = None  # (program, path of the ClientJob as JSON)
    session_command: Callable[[Program, Identity], Command] | None = None  # identity: known when the session starts
    installed: Callable[[str], bool] = lambda _version: False
    repeats: bool = True  # in virtual time the same trial gives the same bytes
    busy_waits: bool = False  # a program spins for time to pass: CPU costs time then, in virtual time too, inexactly
    several_connections: bool = False  # the client honours `connections` of its ClientJob
    server_reports_state: bool = True  # it prints `connection` lines; if not, the client's word proves the state
    system_package: str | None = None  # Debian package that `setup` installs where `installed` says no

    @property
    def default_version(self) -> str:
        """The newest known version."""
        return self.versions[-1].name

    @property
    def version_names(self) -> tuple[str, ...]:
        """Known versions, oldest first."""
        return tuple(version.name for version in self.versions)

    def version(self, name: str) -> Version:
        """One of the known versions; InputError with the nearest name for another."""
        for version in self.versions:
            if version.name == name:
                return version
        near = get_close_matches(name, self.version_names, n=1, cutoff=0.5)
        known = ", ".join(self.version_names) + (f"; did you mean {near[0]!r}?" if near else "")
        raise InputError(f"{self.name} has no version {name!r}", f"known: {known}")

    def protocols_of(self, version: str) -> tuple[str, ...]:
        """What this version speaks."""
        own = self.version(version).protocols
        return self.protocols if own is None else own

    def connections_of(self, version: str) -> tuple[ConnectionState, ...]:
        """The states of a connection that this version can be in."""
        own = self.version(version).connections
        return self.connections if own is None else own

    def knobs_of(self, version: str, role: str) -> Mapping[str, Knob]:
        """The knobs of this version's server or client."""
        order = self.version_names
        at = order.index(self.version(version).name)
        return {
            name: knob
            for name, knob in self.knobs.items()
            if role in knob.roles
            and (knob.since is None or order.index(knob.since) <= at)
            and (knob.until is None or at <= order.index(knob.until))
        }
