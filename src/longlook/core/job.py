"""The order to run one trial, with everything that it needs resolved to paths. Standard library only."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from longlook.core.live import LiveSource
from longlook.core.model import Scalar, Trial
from longlook.core.site import SiteUrl


@dataclass(frozen=True)
class Program:
    """An installed program: its path and the SHA-256 of its file (of its sources for interpreted ones)."""

    path: str
    digest: str


@dataclass(frozen=True)
class ExpectedAnswer:
    """A correct answer to one request; `digest` is empty if nobody knows what is correct, as of a site."""

    bytes: int
    digest: str  # "sha256:" + 64 hex digits


UNKNOWN_ANSWER = ExpectedAnswer(0, "")
"""The answer of a site, which no program of ours serves."""


@dataclass(frozen=True)
class Echo:
    """The datagrams that a client sends to a server which answers with the same (adapters/CONTRACT.md, Echo)."""

    payloads: tuple[int, ...]  # UDP payloads in bytes, one after the other
    tries: int  # of each, until the first answer
    interval_s: float  # from one try to the next


@dataclass(frozen=True)
class Upload:
    """How a client sends the file of a path instead of fetching it (adapters/CONTRACT.md, Uploads)."""

    method: str  # POST or PUT
    file: str  # as a path of the machine; below the content's root until the client's job is made
    expect: str = ""  # of the header field `Expect`; "": none


@dataclass(frozen=True)
class Content:
    """A workload made real: files for the server and requests for the client.

    `phases` are lists of paths; all paths of a phase are requested at once on one connection, the next phase when the
    last object of the phase before has arrived. Browsers load the first path and find the rest in it. `expected` holds
    the paths of all phases; `prime` is served but requested only to obtain a session ticket.
    """

    root: str  # folder that the server serves; it also holds `prime`, one byte, for priming connections
    phases: tuple[tuple[str, ...], ...]  # absolute URL paths, e.g. ("/index.html",), ("/i/000.png", …)
    expected: Mapping[str, ExpectedAnswer]  # URL path → expected answer
    connections: int = 1  # opened at the same moment; each fetches all phases
    waits_s: tuple[float, ...] = ()  # before each phase, the first counted from the completed handshake; empty: none
    priorities: Mapping[str, str] = field(default_factory=dict)
    """Path → value of the header field `priority` with which it is asked for; of others no such field is sent."""
    uploads: Mapping[str, Upload] = field(default_factory=dict)
    """Path → how its file is sent; other files are fetched. `expected` has what the server is to receive."""
    video: Mapping[str, Scalar] = field(default_factory=dict)
    """The video that a player is asked to play, and how (adapters/CONTRACT.md, Video); empty: the load of the phases.
    With a video `connections` is the number of connections over which each segment is fetched, and `expected` also has
    segments that are not asked for.
    """
    echo: Echo | None = None  # what is sent and answered; None: files are fetched. With it there are no phases
    live: LiveSource | None = None  # what the server produces; None: files are fetched. With it there are no phases


@dataclass(frozen=True)
class Identity:
    """TLS material of the laboratory, PEM files; `spki_sha256` is base64, as Chromium wants it."""

    host: str
    ca: str
    certificate: str
    key: str
    spki_sha256: str


@dataclass(frozen=True)
class Site:
    """A site as a trial is to find it: pinned for the round, with what the round's earlier trials saw of it.

    `known` has answers by path, `base_ns` the shortest handshake by transport, without emulation; both are empty in the
    first trial of a round. `certificate` is the digest of the certificate that it had then.
    """

    url: SiteUrl
    address: str
    user_agent: str
    known: Mapping[str, ExpectedAnswer] = field(default_factory=dict)
    base_ns: Mapping[str, int] = field(default_factory=dict)
    certificate: str = ""


@dataclass(frozen=True)
class Job:
    """An order to run a trial once, and to leave its artefacts and `run.json` in `folder`, which exists."""

    trial: Trial
    attempt: int
    folder: str
    programs: Mapping[str, Program]  # server, client, link
    content: Content
    identity: Identity
    traces: Mapping[str, str] = field(default_factory=dict)  # digest → file, of the traces of the trial's link
    configs: Mapping[str, str] = field(default_factory=dict)  # digest → text, of its servers' own configurations
    site: Site | None = field(default=None, metadata={"omitted_when_empty": True})  # in place of a server; else None
