"""Contestants: what each stack can do, how it is installed and how its programs are called.

One file per stack, each defining STACK. The agent imports these files too, inside a guest, so they import nothing
heavy; `install` may import what it likes when it is called.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from longlook import codec
from longlook.job import Identity, Program
from longlook.model import ConnectionState, Scalar


@dataclass(frozen=True)
class Knob:
    """A declared setting of a program."""

    kind: type[int] | type[float] | type[bool] | type[str]
    unit: str | None
    default: Scalar | None  # None: the stack's own
    help: str
    roles: tuple[str, ...] = ("server", "client")
    choices: tuple[Scalar, ...] = ()
    minimum: float | None = None
    maximum: float | None = None


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
    """A contestant.

    A `session` client is started once, stays warm between trials, reads one ClientJob per line on its standard input
    and answers with the lines of adapters/CONTRACT.md, ending in `done`. Other clients get their ClientJob as a file.
    `install(version)` returns the program, building or fetching it when it is not in the cache.
    """

    name: str
    summary: str
    roles: tuple[str, ...]
    protocols: tuple[str, ...]
    connections: tuple[ConnectionState, ...]
    versions: tuple[str, ...]  # known ones, oldest first; the last is the default
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
    system_package: str | None = None  # Debian package that `setup` installs where `installed` says no

    @property
    def default_version(self) -> str:
        """The newest known version."""
        return self.versions[-1]
