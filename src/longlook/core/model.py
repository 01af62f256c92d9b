"""The types that every stage shares; of Longlook this module imports nothing but other plain data.

All types are frozen. Physical quantities carry their unit in their name: `_ns`, `_s`, `_bps`, `_bytes`, `_pct`.
`codec.py` turns any of them into JSON and back.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import Any

from longlook.core.expectations import Expectation
from longlook.core.links import BEHIND, MAIN, SECOND
from longlook.core.quantity import OF_TIMES

Scalar = str | int | float | bool

_LATER: Mapping[str, bool] = {"omitted_when_empty": True}
"""Metadata of fields that `codec` leaves out if they are 0 or empty, so that ids and files from before them stay."""

Json = Any
"""Plain JSON data: a scalar, a tuple or a mapping of such. Never None."""

HEATMAP, TREND, MATRIX, DOTS, POPULATION = "heatmap", "trend", "matrix", "dots", "population"
"""Kinds of figures."""

STATED = -1
"""The `round` of trials at the point that a study states: no draw of a neighbourhood, and no part of any round."""

SCHEMA_VERSION = 2
"""Version of every file in a run folder (`manifest.json` records it)."""


def round_name(number: int) -> str:
    """Return what people call a round of this number, from 0, or STATED."""
    return "stated point" if number == STATED else f"round {number + 1}"


class Outcome(StrEnum):
    """The end of a trial. Everything but `ok` carries a reason, and none is ever dropped from the samples."""

    OK = "ok"
    FAILED = "failed"  # a program under test failed: died, refused, sent a wrong body, spoke another protocol
    TIMED_OUT = "timed_out"  # the trial's time limit passed
    UNSUPPORTED = "unsupported"  # a program exited 127: it cannot do what the trial asks
    INVALID = "invalid"  # the measurement cannot be trusted: a guard tripped, or nothing proves what was measured


class Better(StrEnum):
    """The direction in which a metric is better."""

    LOWER = "lower"
    HIGHER = "higher"


class Verdict(StrEnum):
    """The conclusion of a contrast about the contender."""

    BETTER = "better"
    WORSE = "worse"
    EQUIVALENT = "equivalent"
    INCONCLUSIVE = "inconclusive"


class Vantage(StrEnum):
    """The place where an event was seen."""

    CLIENT = "client"
    SERVER = "server"
    LINK = "link"
    BEHIND = "behind"  # the link behind the middle, in a path of two links


class ConnectionState(StrEnum):
    """The state that a client keeps from an earlier connection; declared by the arm and proven by the server."""

    COLD = "cold"  # no ticket: full TLS 1.3 handshake
    RESUMED = "resumed"  # TLS session ticket, no early data
    ZERO_RTT = "0rtt"  # TLS session ticket and early data accepted


TRACE = "trace"
"""The only key of a parameter that is a trace."""


def trace_of(value: Json) -> str | None:
    """Return the digest of the trace that is the value of a stage's parameter, or None if it is no trace."""
    return value[TRACE] if isinstance(value, dict) and value.keys() == {TRACE} else None


@dataclass(frozen=True)
class Stage:
    """One impairment of one direction, e.g. kind `rate` with `rate_bps` and `queue_bytes` (docs/reference/link.md lists
    all).

    A parameter that varies with time is a mapping (docs/reference/link-formats.md); a trace stands as `{"trace":
    "sha256:…"}`, the digest of its JSON in the store (`network.trace_store`), so that no trial carries a copy.
    """

    kind: str
    parameters: Mapping[str, Json] = field(default_factory=dict)


@dataclass(frozen=True)
class Link:
    """The emulated path: stages in the order a packet meets them. `up` is client to server."""

    up: tuple[Stage, ...]
    down: tuple[Stage, ...]

    def traces(self) -> Iterator[str]:
        """Yield the digests of the traces that its stages name, each as often as it is named."""
        for stage in (*self.up, *self.down):
            yield from filter(None, map(trace_of, stage.parameters.values()))


@dataclass(frozen=True)
class ServerConfig:
    """A server's configuration that the user brings: the name of the file, and the digest of its content.

    The text is kept by its digest (`provision.server_configs`), so that no trial carries a copy.
    """

    name: str
    digest: str  # sha256:…

    def __post_init__(self) -> None:
        """Refuse a name that could lead out of the folder in which the file is laid."""
        if self.name in ("", ".", "..") or {"/", "\0"} & {*self.name}:
            raise ValueError(f"{self.name!r} is no plain name of a file")

    @property
    def label(self) -> str:
        """The name of the file with the first seven digits of the digest, as in `my.conf 4f2a91c`."""
        return f"{self.name} {self.digest.partition(':')[2][:7]}"


@dataclass(frozen=True)
class Endpoint:
    """A program in a role: stack, version and the knobs that differ from its defaults."""

    stack: str
    version: str
    knobs: Mapping[str, Scalar] = field(default_factory=dict)
    config: ServerConfig | None = field(default=None, metadata=_LATER)  # of a server; None: the laboratory's own


@dataclass(frozen=True)
class Workload:
    """The transfer of a trial, e.g. kind `page` with `objects` and `object_bytes`."""

    kind: str
    parameters: Mapping[str, Scalar] = field(default_factory=dict)


@dataclass(frozen=True)
class Arm:
    """One arm of a study as its file states it; `settings` are resolved for each cell into a Trial."""

    name: str
    label: str
    settings: Mapping[str, Scalar]


@dataclass(frozen=True)
class Level:
    """One value of a factor: its label and the settings (dotted keys, e.g. `network.rate`) it makes."""

    label: str
    sets: Mapping[str, Scalar]


@dataclass(frozen=True)
class Factor:
    """A condition that is varied, and its levels."""

    name: str
    levels: tuple[Level, ...]


@dataclass(frozen=True)
class Contrast:
    """A comparison fixed before the data is seen. Contrasts of one `family` are one question: corrected together."""

    name: str
    baseline: str
    contender: str
    metric: str
    family: str = ""  # empty: a family of its own


PUBLISHED, READ_AS = "published", "read as"
"""The origin of a claim's number that its source has itself."""


@dataclass(frozen=True)
class ExpectedLevel:
    """A published level of one arm's metric, and between which bounds ours would be the same finding."""

    arm: str
    metric: str
    published: float | None = None  # in the metric's unit; None: there is no number. `Claim.origin` tells whose it is
    at_least: float | None = None
    at_most: float | None = None
    below: float | None = field(default=None, metadata=_LATER)
    """The level is the share of the study's population, in %, in which the metric is below this, or has no value."""


class ClaimKind(StrEnum):
    """The kind of a statement about a cell. Claims of different kinds are counted apart."""

    NUMBER = "number"  # an effect with a size
    DIRECTION = "direction"  # which arm is better, without a number
    NO_DIFFERENCE = "no difference"
    LEVEL = "level"  # of one arm


@dataclass(frozen=True)
class Claim:
    """A published finding about one cell: an effect in our sign, + % means the contender is better; or a level.

    `effect_pct` is None if the source states "not significant" without a number, and if it states only which arm
    is better, which is then `direction`. A value at or beyond ±`clipped_at_pct` in the source is a bound, not a point.
    `uncertainty_pct` is the reading error in points. `contrast` is empty for a level, which is about one arm.
    `origin` tells whose the number is: `published` (the source's), `derived` (computed from the source's numbers) or
    `read as` (the study's number for what the source has in words or as a range).
    """

    id: str
    source: str
    contrast: str
    cell: Mapping[str, str]
    effect_pct: float | None
    significant: bool
    uncertainty_pct: float = 0.0
    clipped_at_pct: float | None = None
    direction: Verdict | None = None  # better | worse, where the source gives no number
    expected: ExpectedLevel | None = None
    untestable: str | None = None  # why no trial of this study can test it
    origin: str = PUBLISHED  # published | derived | READ_AS
    counts_as: str = field(default="", metadata=_LATER)
    """The name of what the source states, if other claims repeat it and `statement` would not tell."""

    @property
    def kind(self) -> ClaimKind:
        """The kind of what the source states."""
        if self.expected is not None:
            return ClaimKind.LEVEL
        if not self.significant:
            return ClaimKind.NO_DIFFERENCE
        return ClaimKind.DIRECTION if self.effect_pct is None else ClaimKind.NUMBER

    @property
    def statement(self) -> str:
        """The name of what the source states. Claims of one name repeat one number or sentence, which counts once.

        By default each cell of a figure is a number of its own, and so is each number of a level. A sentence (a
        direction, or "no difference" read from words) is one, whatever number of cells it is about.
        """
        if self.counts_as:
            return self.counts_as
        if self.expected is not None:
            level = self.expected
            about = [level.metric, level.published, level.below]
            return ": ".join([self.source, *(str(item) for item in about if item is not None)])
        if self.kind is ClaimKind.DIRECTION or (self.kind is ClaimKind.NO_DIFFERENCE and self.origin == READ_AS):
            return self.source
        return ": ".join([self.source, ", ".join([self.contrast, *self.cell.values()])])


@dataclass(frozen=True)
class Analysis:
    """The method by which verdicts are reached (docs/explanation/method.md)."""

    alpha: float = 0.01
    confidence: float = 0.95
    equivalence_margin_pct: float | None = None  # of metrics compared by ratios; None: each metric's own margin
    correction: str = "holm"  # holm | fdr_bh | none
    min_rounds: int = 10
    reference: str | None = None  # the arm that metrics which compare arms compare with

    @property
    def margin_pct(self) -> float:
        """The margin of times in this study: its own, else the margin of every study."""
        return OF_TIMES.size if self.equivalence_margin_pct is None else self.equivalence_margin_pct


@dataclass(frozen=True)
class Capture:
    """Optional artefacts; each costs the endpoints something, so all are off by default."""

    qlog: bool = False
    keylog: bool = False
    tcp: bool = False  # the kernel's TCP at both ends, by a recorder (docs/reference/capture.md)
    netlog: bool = False  # a browser's own log of its network stack
    cpu: bool = False  # where both ends spend CPU time, by sampling; in real time alone (docs/reference/capture.md)


@dataclass(frozen=True)
class Figure:
    """The layout of the cells: factor names on each axis. A `trend` draws the arms by date of release in each.

    A `matrix` has the arms down and `columns` across, with the medians of `metric` (empty: the first contrast's).
    `dots` are these medians as points, cell by cell. A `population` has the shares of the study's population in which
    `metric` is below each value.
    """

    columns: str
    rows: tuple[str, ...]
    kind: str = HEATMAP
    metric: str = ""


@dataclass(frozen=True)
class Population:
    """A population of paths: the levels of one factor are its strata, each with its share. An input, not a finding."""

    factor: str
    shares: Mapping[str, float]  # label of the level → share in %; together 100
    source: str  # where the shares come from, and which are assumed


@dataclass(frozen=True)
class Stopping:
    """Rounds of a cell go on until all its contrasts are decided, or `Study.rounds` are done
    (docs/explanation/method.md).

    A contrast is decided if its interval lies wholly within the margin of equivalence or wholly beyond it. With a gate,
    its interval must lie wholly on one side of −`gate_pct`, and failures of the arms must be decided too.
    """

    gate_pct: float | None = None


@dataclass(frozen=True)
class Hypothesis:
    """A statement of one's own about a contrast, made before the first trial.

    It is about every cell that has the levels of `cell`. `expect` is the verdict that it foresees, and `at_least_pct`
    the smallest effect, in %, that it foresees with it; None: any.
    """

    id: str
    contrast: str
    cell: Mapping[str, str]  # factor → level; empty: every cell
    expect: Verdict  # better | worse | equivalent
    at_least_pct: float | None = None
    because: str = ""  # the reason for it, in words


@dataclass(frozen=True)
class Study:
    """A question, the arms that are compared, the cells, and the method of its conclusions."""

    id: str
    title: str
    question: str
    arms: tuple[Arm, ...]
    factors: tuple[Factor, ...]
    exclude: tuple[Mapping[str, tuple[str, ...]], ...]  # a cell matching every factor of one mapping is left out
    settings: Mapping[str, Scalar]  # dotted defaults: network.*, workload.*, client.*, server.*, …
    rounds: int  # with `stopping` at most
    seed: int
    timeout_s: float
    retries_when_invalid: int
    metrics: tuple[str, ...]
    contrasts: tuple[Contrast, ...]
    claims: tuple[Claim, ...]
    analysis: Analysis
    capture: Capture
    figure: Figure
    source: str | None = None
    notes: str | None = None
    traces: Mapping[str, str] = field(default_factory=dict)  # trace files that were read, `rate /path` → digest
    stopping: Stopping | None = None  # None: all rounds run
    around: Mapping[str, str] = field(default_factory=dict, metadata=_LATER)  # setting → law of its draws; empty: none
    population: Population | None = field(default=None, metadata=_LATER)
    loss_strata: bool = field(default=False, metadata=_LATER)  # random losses are integrated, if they can be
    expectations: tuple[Expectation, ...] = field(default=(), metadata=_LATER)  # judged in each trial; no part of any
    hypotheses: tuple[Hypothesis, ...] = field(default=(), metadata=_LATER)  # registered before the first trial

    @property
    def first_contrast(self) -> Contrast | None:
        """The first contrast; None of a scenario, which has one arm and compares nothing."""
        return self.contrasts[0] if self.contrasts else None

    @property
    def figure_metric(self) -> str:
        """The metric of the figure: its own, or the first contrast's; of a scenario the first metric."""
        first = self.first_contrast
        return self.figure.metric or (self.metrics[0] if first is None else first.metric)


@dataclass(frozen=True)
class Flow:
    """One flow of a trial: its only one, or one of several that share its link (workload `compete`).

    Each flow has a client of its own. Flows with the same `address_slot` share a server; every other flow that is not
    cross traffic has a server of its own. The first group of an arm that is not cross traffic is the subject, the other
    groups are its competitors.
    """

    name: str  # unique in its trial: the group's, with a number if the group has several; "": it does not compete
    group: str
    cross: bool
    address_slot: int  # from 0: which pair of addresses it uses
    start_s: float  # after the trial's own start
    object_bytes: int | None  # None: as much as comes until all stop
    protocol: str
    connection: ConnectionState
    congestion_control: str | None
    initial_window_packets: int | None  # of the kernel's TCP; None: as the trial's TCP has it
    server: Endpoint
    client: Endpoint

    @property
    def competes(self) -> bool:
        """Return whether it is a flow of workload `compete`, also if no other flow is there."""
        return bool(self.name)


@dataclass(frozen=True)
class Processor:
    """The costs of an endpoint's work in virtual time, in which computing is free otherwise
    (docs/explanation/processors.md)."""

    call_ns: int = 0  # a system call of its programs
    wake_ns: int = 0  # a system call that waited, beside call_ns
    datagram_ns: int = 0  # a UDP datagram that they send or receive
    packet_ns: int = 0  # a packet, for its kernel, either way
    byte_ps: int = 0  # a byte of a packet, for its programs, either way


@dataclass(frozen=True)
class Trial:
    """One resolved measurement: (cell, arm, round). Its `id` is the hash of everything that determines its result."""

    id: str
    study: str
    cell: Mapping[str, str]  # factor name → level label
    cell_id: str
    arm: str
    round: int  # from 0; STATED: at the stated point of the cell, before any round
    seed: int  # the link's; shared by all arms of a round in a cell (common random numbers); < 2**63
    link: Link
    workload: Workload
    protocol: str  # h3 | h2
    connection: ConnectionState
    congestion_control: str | None  # kernel TCP's, both sides; None where the protocol is QUIC
    server: Endpoint
    client: Endpoint
    timeout_s: float
    capture: Capture = Capture()
    engine: str | None = None  # None: the one that the run was started with
    tcp: Mapping[str, Scalar] = field(default_factory=dict)  # of the kernel's TCP, beside its congestion control
    client_cpu_share: float | None = None  # of one CPU; None: as much as it likes
    flows: tuple[Flow, ...] = ()  # those that compete; the fields above are then the subject's. See `each_flow`
    drawn: Mapping[str, str] = field(default_factory=dict, metadata=_LATER)  # what its round drew: setting → value
    start_phase_ns: int = field(default=0, metadata=_LATER)  # the client begins so long after a beat, and the link
    certificate_padding_bytes: int = field(default=0, metadata=_LATER)  # by which the server's certificate is longer
    processors: Mapping[str, Processor] = field(default_factory=dict, metadata=_LATER)  # role → its; else work is free
    randomness_of: str = field(default="", metadata=_LATER)  # the trial whose randomness programs share; "": its own
    further: Mapping[str, Link] = field(default_factory=dict, metadata=_LATER)  # links beside `link`, by name
    proxy: Endpoint | None = field(default=None, metadata=_LATER)  # in the middle, before the link `behind`
    stratum: str = field(default="", metadata=_LATER)  # of losses that are integrated: none, one or more inside
    ip: int = field(default=0, metadata=_LATER)  # the version of IP, 6; 0: 4

    @property
    def links(self) -> Mapping[str, Link]:
        """Return every emulated link by its name (`core.links`), the main one first."""
        return {MAIN: self.link, **self.further}

    @property
    def has_middle(self) -> bool:
        """Return whether its path has a middle between two links, in which a proxy may stand."""
        return BEHIND in self.further

    def traces(self) -> Iterator[str]:
        """Yield the digests of the traces of all its links, each as often as it is named."""
        for link in self.links.values():
            yield from link.traces()

    @property
    def has_second_path(self) -> bool:
        """Return whether a second path joins the ends, with a link of its own."""
        return SECOND in self.further

    @property
    def competes(self) -> bool:
        """Return whether its flows compete (workload `compete`)."""
        return bool(self.flows)

    def each_flow(self) -> tuple[Flow, ...]:
        """Return its flows, at least one: a trial without `flows` has one, which has no name."""
        if self.flows:
            return self.flows
        only = Flow(
            name="",
            group="",
            cross=False,
            address_slot=0,
            start_s=0.0,
            object_bytes=None,
            protocol=self.protocol,
            connection=self.connection,
            congestion_control=self.congestion_control,
            initial_window_packets=None,
            server=self.server,
            client=self.client,
        )
        return (only,)

    def with_only(self, flow: Flow) -> "Trial":
        """Return the trial as if `flow`, which is one of its flows, were its only one."""
        return replace(
            self,
            protocol=flow.protocol,
            connection=flow.connection,
            congestion_control=flow.congestion_control,
            server=flow.server,
            client=flow.client,
            flows=(),
        )


@dataclass(frozen=True)
class Plan:
    """All trials in the order they run; `hash` covers ids and order."""

    study: str
    hash: str
    trials: tuple[Trial, ...]


@dataclass(frozen=True)
class Run:
    """The outcome of one attempt at a trial (`run.json`). Paths in `artefacts` are relative to the trial's folder."""

    trial_id: str
    outcome: Outcome
    reason: str | None
    hint: str | None
    attempt: int  # from 1
    engine: str
    started_unix_ns: int
    setup_s: float  # from the order to run until the client may start
    measure_s: float  # client
    teardown_s: float
    programs: Mapping[str, str]  # role (server, client, link) → sha256 of the program
    artefacts: Mapping[str, str]  # path → sha256
    cpu_s: Mapping[str, float]  # role → user + system CPU seconds of the process tree, or of its processor
    link: Mapping[str, Mapping[str, int]]  # direction (`up`, of a further link `behind.up`) → its counters
    guard: Mapping[str, float]  # validity observations: late_share, max_gap_ms, steal_share, …
    collectors: Mapping[str, str] = field(default_factory=dict)  # collector → "" if it worked, else why it did not
    exact: bool = False  # in virtual time with programs that repeat: the same trial gives the same bytes
    kernel_counts: Mapping[str, Mapping[str, int]] = field(default_factory=dict, metadata=_LATER)
    """In real time: role → `packets` that its kernel took from the device, `calls` that its programs made."""
