"""The declaration of a stack: its abilities, its installation and the commands of its programs.

Each file in `longlook.stacks` defines one STACK. The agent imports these files inside a guest, too: they must import
nothing heavy. `install` may import anything when it is called.
"""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from longlook.core import codec
from longlook.core.errors import InputError, MachineError
from longlook.core.job import Echo, Identity, Program, Upload
from longlook.core.live import LiveSource
from longlook.core.model import ConnectionState, Scalar
from longlook.core.protocol import EITHER, find_protocol
from longlook.core.source_tree import SourceTree, find_tree
from longlook.core.versions import tunable_name

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9+._~-]*")
_TAKEN = frozenset({"all", "kernel"})
"""Names with a meaning of their own among stacks and versions: every version, and the guest kernel."""


@dataclass(frozen=True)
class Version:
    """A release of a stack that was seen working here. A field that is None has the value that the stack declares."""

    name: str
    released: str  # ISO date of its publication; empty where what is installed decides
    protocols: tuple[str, ...] | None = None
    connections: tuple[ConnectionState, ...] | None = None
    note: str = ""  # a peculiarity that matters in comparisons
    of: str = ""  # of sources that are no release: the release whose knobs it has; else ""


def find_version(stack: str, versions: tuple[Version, ...], name: str) -> Version:
    """Return the version of this name of the stack that is called `stack`; InputError with the nearest name if none."""
    for version in versions:
        if version.name == name:
            return version
    from difflib import get_close_matches  # guests import this module, and look for no names

    names = [version.name for version in versions]
    near = get_close_matches(name, names, n=1, cutoff=0.5)
    known = ", ".join(names) + (f"; did you mean {near[0]!r}?" if near else "")
    raise InputError(f"{stack} has no version {name!r}", f"known: {known}")


SERVER_CONFIG_VARIABLE = "LONGLOOK_SERVER_CONFIG"
"""The variable of a server that the user brings a configuration for: its file (adapters/CONTRACT.md)."""
CHECK_CONFIG_VARIABLE = "LONGLOOK_CHECK_CONFIG"
"""The variable that asks a server to check its configuration and to end (adapters/CONTRACT.md)."""

PLAYER_RULES = ("throughput", "bola", "buffer")
"""The rules that may choose the quality of a video's next segment (adapters/CONTRACT.md, Video)."""

RFC_WINDOW_AFTER_LOSS: Mapping[str, float] = {"reno": 0.5, "cubic": 0.7}
"""Congestion control → the share of the window that remains after one loss by its RFC; see `Knob.window_after_loss`."""


@dataclass(frozen=True)
class Knob:
    """A setting of a program. A name that several stacks have means the same in all (adapters/CONTRACT.md)."""

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
    protocols: tuple[str, ...] = ()  # those that it applies to; empty: all of the stack's
    only_with: Mapping[str, tuple[Scalar, ...]] = field(default_factory=dict)
    """Knobs of the same program without which it cannot be set, and the values that they must have."""
    usual: Scalar | None = None
    """The program's own value if nobody sets the knob, in this knob's unit; None: not known, or not the same
    everywhere.
    """
    window_after_loss: Mapping[str, float] = field(default_factory=dict)
    """Per congestion control: the share of the window that remains after one loss, if it differs from the RFC's."""
    lasting_loss: Mapping[str, int] = field(default_factory=dict)
    """Per congestion control: how many packets lost together reduce the window for good. Some forgive fewer."""

    def applies_to(self, protocol: str) -> bool:
        """Return whether it means something in a trial with this protocol."""
        return not self.protocols or not {protocol, *find_protocol(protocol).spoken}.isdisjoint(self.protocols)


@dataclass(frozen=True)
class OwnRoot:
    """The root that a program sees instead of the laboratory's: a folder, under a layer of the program's own.

    Places are paths in the root without a first slash. `shown` maps them to files and folders of the laboratory,
    `texts` to the content of files, which can be executed. The program can make files in the `writable` folders, and in
    `results`, which is empty at the start and from which the laboratory takes files; it is "" if there is none.
    """

    folder: str
    begins_in: str  # a place
    shown: Mapping[str, str] = field(default_factory=dict)
    texts: Mapping[str, str] = field(default_factory=dict)
    writable: tuple[str, ...] = ()
    results: str = ""  # a place


@dataclass(frozen=True)
class Command:
    """A program to start: its arguments, and the variables that it needs beside the laboratory's own.

    A program with a `root` of its own gets no variables of the machine, and is ready once it listens.
    """

    argv: tuple[str, ...]
    env: Mapping[str, str] = field(default_factory=dict)
    root: OwnRoot | None = None


@dataclass(frozen=True)
class ServerJob:
    """Serve `www` on `address:port` with `protocol` until SIGTERM.

    `connection` is for programs that need the declared state; ours give tickets in any case.
    """

    protocol: str
    address: str
    port: int
    www: str
    identity: Identity
    knobs: Mapping[str, Scalar]
    connection: ConnectionState = ConnectionState.COLD  # that the trial declares


def server_arguments(job: ServerJob) -> tuple[str, ...]:
    """Return the job as the arguments that our own adapters take (adapters/CONTRACT.md)."""
    identity = job.identity
    where = ("--address", job.address, "--port", str(job.port), "--www", job.www)
    trust = ("--certificate", identity.certificate, "--key", identity.key)
    knobs = tuple(part for name, value in sorted(job.knobs.items()) for part in ("--knob", f"{name}={_text(value)}"))
    return ("server", "--protocol", job.protocol, *where, *trust, *knobs)


def _text(value: Scalar) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


@dataclass(frozen=True)
class ProxyJob:
    """Carry what arrives at `address:port` on to the server at `upstream:port`, until SIGTERM."""

    protocol: str
    address: str
    port: int
    upstream: str
    identity: Identity
    knobs: Mapping[str, Scalar]


@dataclass(frozen=True)
class RelayJob(ProxyJob):
    """Stand beside the client at `address:port`, and carry its packets through the proxy `upstream` to `target`."""

    target: str


def proxy_arguments(job: ProxyJob) -> tuple[str, ...]:
    """Return the job as the arguments that our own adapters take (adapters/CONTRACT.md)."""
    identity = job.identity
    where = ("--address", job.address, "--port", str(job.port), "--upstream", job.upstream)
    trust = ("--certificate", identity.certificate, "--key", identity.key, "--ca", identity.ca, "--host", identity.host)
    knobs = tuple(part for name, value in sorted(job.knobs.items()) for part in ("--knob", f"{name}={_text(value)}"))
    if isinstance(job, RelayJob):
        return ("relay", "--protocol", job.protocol, *where, "--target", job.target, *trust, *knobs)
    return ("proxy", "--protocol", job.protocol, *where, *trust, *knobs)


@dataclass(frozen=True)
class ClientJob:
    """Fetch `phases` from https://`identity.host`:`port` at `address`. A session client reads it as a line of JSON."""

    protocol: str
    connection: ConnectionState
    address: str
    port: int
    phases: tuple[tuple[str, ...], ...]
    identity: Identity
    knobs: Mapping[str, Scalar]
    timeout_s: float
    connections: int = 1  # opened at the same moment; each fetches all phases
    waits_s: tuple[float, ...] = ()  # before each phase, the first counted from the completed handshake; empty: none
    second_address: str = ""  # the client's, from which it may continue; empty: it has one address only
    priorities: Mapping[str, str] = field(default_factory=dict)  # path → value of its header field `priority`
    uploads: Mapping[str, Upload] = field(default_factory=dict)  # path → what is sent there; of others all is fetched
    video: Mapping[str, Scalar] = field(default_factory=dict)  # what to play, and how; empty: fetch the phases
    echo: Echo | None = None  # what to send to a server that answers with the same; None: fetch the phases
    live: LiveSource | None = None  # what to ask a live source for; None: fetch the phases
    user_agent: str = ""  # that names the tool and its user to a site; empty: the library's own
    prime: str = ""  # the path that a priming connection fetches from a site; empty: /prime

    def data(self) -> dict[str, Any]:
        """Return the job as plain JSON data; without `connections` if it is 1, and without `waits_s`, `second_address`,
        `priorities`, `uploads`, `video`, `echo`, `live`, `user_agent` and `prime` if there are none, because most
        programs know no others.
        """
        entries: dict[str, Any] = codec.encode(self)
        if self.connections == 1:
            del entries["connections"]
        if not self.waits_s:
            del entries["waits_s"]
        if not self.second_address:
            del entries["second_address"]
        if not self.priorities:
            del entries["priorities"]
        if not self.uploads:
            del entries["uploads"]
        if not self.video:
            del entries["video"]
        if self.echo is None:
            del entries["echo"]
        if self.live is None:
            del entries["live"]
        for name in ("user_agent", "prime"):
            if not entries[name]:
                del entries[name]
        return entries


@dataclass(frozen=True)
class FromSources:
    """The way from sources that are no release to a stack's program.

    `state_version(folder)` returns the version that sources state themselves, "" if they state none; it raises
    InputError if they are of another project, or cannot be built. `unpack(version, into)` puts the sources of a known
    version into a new folder. `knob_patches(version)` returns the patches that make its tunable build of a version's
    sources, in their order. Sub-modules of git that are `unneeded` are left out: tests and examples have theirs.
    """

    build: Callable[[SourceTree], Program]
    is_built: Callable[[SourceTree], bool]
    state_version: Callable[[Path], str]
    unpack: Callable[[str, Path], None]
    unneeded: tuple[str, ...] = ()
    knob_patches: Callable[[str], tuple[Path, ...]] = lambda _version: ()


@dataclass(frozen=True)
class Stack:
    """A stack: one program, or a pair of programs, that can be a server, a client, a proxy, or several of them.

    A `session` client is started once and serves many trials. It reads one ClientJob per line on its standard input,
    and answers with the lines of adapters/CONTRACT.md, the last of which is `done`. Other clients get their ClientJob
    as a file. `install(version)` returns the program; it builds or fetches what is not in the cache.
    """

    name: str
    summary: str
    roles: tuple[str, ...]
    protocols: tuple[str, ...]
    connections: tuple[ConnectionState, ...]
    versions: tuple[Version, ...]  # known ones, oldest first
    knobs: Mapping[str, Knob]
    log_formats: tuple[str, ...]
    install: Callable[[str], Program]
    server_command: Callable[[Program, ServerJob], Command] | None = None
    client_command: Callable[[Program, str], Command] | None = None  # (program, path of the ClientJob as JSON)
    requests_command: Callable[[Program, ClientJob], Command] | None = None
    """For a client that asks for everything at once, leaves files, and prints what it likes: no line of ours is needed
    (the QUIC interop runner's contract)."""
    session_command: Callable[[Program, Identity], Command] | None = None  # identity: known when the session starts
    proxy_command: Callable[[Program, ProxyJob], Command] | None = None
    relay_command: Callable[[Program, RelayJob], Command] | None = None
    """For a proxy to which clients tunnel: the program next to the client, which carries its packets to the proxy."""
    installed: Callable[[str], bool] = lambda _version: False
    repeats: bool = True  # its trials are deterministic: in virtual time the same trial gives the same bytes
    one_certificate: bool = False  # its session refuses another certificate that has the serial number of one it saw
    ipv6: bool = True  # its programs serve and connect over IPv6
    ipv4_knobs: tuple[str, ...] = ()  # those that do nothing over IPv6
    busy_waits: bool = False  # it spins until time has passed: then CPU costs time in virtual time too, inexactly
    several_connections: bool = False  # the client opens as many connections as its ClientJob has
    early_data_protocols: tuple[str, ...] = ("h3",)  # over which a `0rtt` connection can be made
    cold_protocols: tuple[str, ...] = ()  # over which cold connections alone can be made
    proxy_protocols: tuple[str, ...] | None = None  # of `protocols`, those that its proxy carries; None: all
    either: bool = False  # over h3-or-h2 the server speaks both on one port, and the client chooses
    waits: bool = False  # the client waits before phases as its ClientJob says
    uploads: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """Role → the protocols over which its client sends files, or its server takes them and says what arrived."""
    priorities: bool = False  # the client sends header fields `priority` as its ClientJob says
    plays: bool = False  # the client plays video as its ClientJob says
    players: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """For a client that plays a video of pictures by a player, which its knob `player` names: the player's name → the
    rules by which it may choose rungs.
    """
    lacks_decoder: bool = False  # of their videos: Longlook fetches one for it (provision/decoder.py)
    paints: bool = False  # the client shows pages, and its `page` line says when
    check_decoder: Callable[[], None] = lambda: None  # raises MachineError where their videos cannot be decoded here
    server_reports_state: bool = True  # it prints `connection` lines; where not, the client's lines prove the state
    of_images: bool = False  # its versions are images that the user brings; only guests give them their root
    outside: bool = False  # its server is a site of the world outside, and its program here stands for it
    visits: bool = False  # the client names its user agent, and primes with a path, as its ClientJob says
    remote: bool = False  # the client is another machine, and its program here drives it: in real time alone
    system_package: str | None = None  # Debian package that `setup` installs where `installed` returns False
    from_sources: FromSources | None = None  # None: it cannot be built from sources of the user's
    default: str = ""  # the version if none is named; empty: the newest
    server_config: str = ""  # the form in which its server takes a configuration of the user's; empty: it takes none
    preset: Mapping[str, Scalar] = field(default_factory=dict)  # knobs that are set in every trial that does not

    def __post_init__(self) -> None:
        """Raise InputError for a name that cannot be one, for a stack without versions, and for a knob that is bounded
        by a version, or asks for a knob, that the stack does not have.
        """
        for what, given in (("name", self.name), *(("version", version) for version in self.version_names)):
            if not _NAME.fullmatch(given) or given in _TAKEN:
                raise InputError(
                    f"stack {self.name!r}: {what} {given!r} cannot be one",
                    f"letters, digits and + - . _ ~, first a letter or a digit, and not {' or '.join(sorted(_TAKEN))}",
                )
        if not self.versions and not self.of_images:
            raise InputError(f"stack {self.name} has no version", "name at least one in `versions`")
        if self.default:
            find_version(self.name, self.versions, self.default)
        for name, knob in self.knobs.items():
            for other in knob.only_with:
                if other not in self.knobs:
                    known = ", ".join(self.knobs)
                    raise InputError(
                        f"stack {self.name}, knob {name}: only_with names {other!r}, no knob of it", f"known: {known}"
                    )
            for key, version in (("since", knob.since), ("until", knob.until)):
                if version is not None and version not in self.version_names:
                    known = ", ".join(self.version_names)
                    raise InputError(
                        f"stack {self.name}, knob {name}: {key} is {version!r}, no version of it",
                        f"known: {known}; `STACK.derived` takes the knobs of one version for a stack made from it",
                    )

    def derived(self, name: str, version: Version, of: str, **changes: Any) -> "Stack":
        """Return a stack of one version that is made from version `of` of this one; InputError if that is unknown.

        It has the protocols, connection states and knobs of that version. `changes` are other fields, at least
        `install` and `installed`, since its program is another.
        """
        knobs = {knob: found for role in self.roles for knob, found in self.knobs_of(of, role).items()}
        return replace(
            self,
            name=name,
            versions=(version,),
            protocols=self.protocols_of(of),
            connections=self.connections_of(of),
            knobs={knob: replace(found, since=None, until=None) for knob, found in knobs.items()},
            default="",
            **changes,
        )

    @property
    def default_version(self) -> str:
        """Return the version if none is named: the newest known one, unless `default` names another.

        InputError if all of its versions are brought by the user.
        """
        if not self.versions:
            raise InputError(f"{self.name} is not named by a version", f"name a file: {self.name}:./FILE")
        return self.default or self.versions[-1].name

    @property
    def end_roles(self) -> tuple[str, ...]:
        """Return its roles at an end of a path: every role except `proxy`."""
        return tuple(role for role in self.roles if role != "proxy")

    def is_default(self, version: str) -> bool:
        """Return whether a version is `default_version`; False if the user brings all versions."""
        return bool(self.versions) and version == self.default_version

    @property
    def version_names(self) -> tuple[str, ...]:
        """Return the names of the known versions, oldest first."""
        return tuple(version.name for version in self.versions)

    def version(self, name: str) -> Version:
        """Return a known version, or copied sources; InputError with the nearest name for any other."""
        if name not in self.version_names and (tree := find_tree(self.name, name)) is not None:
            own = find_version(self.name, self.versions, tree.of) if tree.of else Version(tree.version, "")
            return replace(own, name=tree.version, released=tree.authored, note=tree.title, of=tree.of)
        return find_version(self.name, self.versions, name)

    def program(self, version: str) -> Program:
        """Return the program of a version, from the cache or built first; InputError for an unknown version."""
        tree = self._tree(version)
        if tree is None:
            return self.install(version)
        if not tree.folder.is_dir():
            raise MachineError(
                f"the sources of {self.name}@{version} are not on this machine",
                f"they were {tree.origin}, commit {tree.commit[:7] or 'unknown'}: name them in their place",
            )
        return self._built_from_sources.build(tree)

    def is_installed(self, version: str) -> bool:
        """Return whether `program` has nothing to do."""
        tree = self._tree(version)
        return self.installed(version) if tree is None else self._built_from_sources.is_built(tree)

    def _tree(self, version: str) -> SourceTree | None:
        return None if version in self.version_names else find_tree(self.name, version)

    @property
    def _built_from_sources(self) -> FromSources:
        if self.from_sources is None:
            raise InputError(f"{self.name} is not built from sources", "name one of its versions")
        return self.from_sources

    def with_knobs(self, version: str) -> tuple[str, ...]:
        """Return what can stand for a version if knobs are set: itself, then its tunable build, if there is one."""
        tunable = tunable_name(version)
        if tunable == version or (tunable not in self.version_names and find_tree(self.name, tunable) is None):
            return (version,)
        return version, tunable

    def why_untunable(self, version: str) -> str:
        """Return why sources have no tunable build, if the version that they are nearest to has one; "" otherwise."""
        tree = self._tree(version)
        return tree.untunable if tree is not None else ""

    def protocols_of(self, version: str) -> tuple[str, ...]:
        """Return the protocols of this version."""
        own = self.version(version).protocols
        return self.protocols if own is None else own

    def speaks(self, version: str, protocol: str, role: str = "") -> bool:
        """Return whether this version can be asked for a protocol, or for `h3-or-h2`: in a role, or in every one."""
        able = self.either or protocol != EITHER.name
        spoken = set(find_protocol(protocol).spoken)
        carried = role != "proxy" or self.proxy_protocols is None or spoken <= {*self.proxy_protocols}
        return able and carried and spoken <= {*self.protocols_of(version)}

    def connections_of(self, version: str, protocol: str | None = None) -> tuple[ConnectionState, ...]:
        """Return the connection states that this version supports: over a protocol, or over any."""
        own = self.version(version).connections
        states = self.connections if own is None else own
        if protocol == EITHER.name or protocol in self.cold_protocols:
            return (ConnectionState.COLD,)
        if protocol is None or protocol in self.early_data_protocols:
            return states
        return tuple(state for state in states if state is not ConnectionState.ZERO_RTT)

    def knobs_of(self, version: str, role: str) -> Mapping[str, Knob]:
        """Return the knobs of this version's server or client, by name."""
        chosen = self.version(version)
        order = self.version_names or (chosen.name,)
        at = order.index(chosen.of or chosen.name)
        return {
            name: knob
            for name, knob in self.knobs.items()
            if role in knob.roles
            and (knob.since is None or order.index(knob.since) <= at)
            and (knob.until is None or at <= order.index(knob.until))
        }
