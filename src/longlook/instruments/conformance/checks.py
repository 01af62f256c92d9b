"""Checks as data: the trials that a check needs, a pure function that judges their results, and reports of results."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import TypeVar

from longlook.core import (
    SECOND,
    Capture,
    ConnectionState,
    Endpoint,
    Flow,
    Link,
    Scalar,
    Trial,
    Workload,
    codec,
    find_protocol,
)
from longlook.instruments.conformance.evidence import Seen
from longlook.study import parameters


class CheckStatus(StrEnum):
    """The result of a check."""

    PASSED = "passed"
    FAILED = "failed"
    NOT_APPLICABLE = "not applicable"


@dataclass(frozen=True)
class CheckFinding:
    """A check's result; `seen` is what was observed, in words with numbers and units."""

    status: CheckStatus
    seen: str


def verdict(holds: bool, seen: str) -> CheckFinding:
    """Return the finding `passed` if something holds, else `failed`."""
    return CheckFinding(CheckStatus.PASSED if holds else CheckStatus.FAILED, seen)


@dataclass(frozen=True)
class Want:
    """A trial that a check needs."""

    protocol: str
    link: Link
    workload: Workload
    server: Endpoint
    client: Endpoint
    connection: ConnectionState = ConnectionState.COLD
    qlog: bool = False
    timeout_s: float = 60.0
    seed: int = 1
    tcp: Mapping[str, Scalar] = field(default_factory=dict, metadata={"omitted_when_empty": True})
    """Settings of the kernel's TCP as a study writes them (`study.tcp.SETTINGS`)."""
    second: Link | None = field(default=None, metadata={"omitted_when_empty": True})
    """A second path between the ends."""

    def trial(self) -> Trial:
        """Return the trial for an engine; equal wants give the same trial.

        Bare datagrams run as cross traffic without competitors, since they fetch nothing that could end a trial. TCP
        uses the kernel's cubic.
        """
        identity = codec.content_hash(self)
        protocol = find_protocol(self.protocol)
        return Trial(
            id=identity,
            study="conformance",
            cell={},
            cell_id="conformance",
            arm="conformance",
            round=0,
            seed=self.seed,
            link=self.link,
            workload=self.workload,
            protocol=self.protocol,
            connection=self.connection,
            congestion_control="cubic" if protocol.kernel_tcp else None,
            server=self.server,
            client=self.client,
            timeout_s=self.timeout_s,
            capture=Capture(qlog=self.qlog),
            tcp=parameters(self.tcp),
            further={} if self.second is None else {SECOND: self.second},
            flows=(self._flow(),) if protocol.cross_traffic else (),
        )

    def _flow(self) -> Flow:
        return Flow(
            name="traffic",
            group="traffic",
            cross=True,
            address_slot=0,
            start_s=0.0,
            object_bytes=None,
            protocol=self.protocol,
            connection=self.connection,
            congestion_control=None,
            initial_window_packets=None,
            server=self.server,
            client=self.client,
        )


Judge = Callable[[Mapping[str, Seen]], CheckFinding]
Measure = TypeVar("Measure")


def comparing(
    read: Callable[[Seen], Measure | None],
    judge: Callable[[Mapping[str, Measure]], CheckFinding],
    missing: str = "there was nothing to measure",
) -> Judge:
    """Return the judge that reads one measure of each trial and lets `judge` compare the measures, by trial.

    A trial that is not ok, or that has no measure (`read` returns None), is the failure: `judge` is not asked then.
    """

    def judged(seen: Mapping[str, Seen]) -> CheckFinding:
        found = {name: read(each) if each.ok else None for name, each in seen.items()}
        measures = {name: measure for name, measure in found.items() if measure is not None}
        failed = [f"{name}: {missing if seen[name].ok else seen[name].why}" for name in seen if name not in measures]
        return verdict(False, "; ".join(failed)) if failed else judge(measures)

    return judged


@dataclass(frozen=True)
class Check:
    """One question about a stack. `judge` gets the results of `wants` under the same names.

    `knob` names the setting that the check proves; several checks may prove one, for both roles for example.
    """

    name: str
    wants: Mapping[str, Want]
    judge: Judge
    knob: str | None = None
    role: str | None = None


def inapplicable(name: str, why: str, knob: str | None = None, role: str | None = None) -> Check:
    """Return a check that does not apply here, with the reason."""
    return Check(name, {}, lambda _seen: CheckFinding(CheckStatus.NOT_APPLICABLE, why), knob, role)


@dataclass(frozen=True)
class CheckResult:
    """A check and its finding, as saved; `trials` are the ids of the trials it is based on."""

    check: str
    status: CheckStatus
    seen: str
    knob: str | None = None
    role: str | None = None
    trials: tuple[str, ...] = ()


class KnobState(StrEnum):
    """The state of a knob in sources of the user's, by its proofs."""

    LOST = "no longer honoured"
    UNSEEN = "cannot be seen"
    HONOURED = "honoured"


@dataclass(frozen=True)
class Honoured:
    """A knob of a release, and whether sources that are nearest to it honour the knob in these roles.

    `reason` says why it is lost, or why it has no effect to see in these roles. It is empty if the knob is honoured.
    """

    knob: str
    roles: tuple[str, ...]
    state: KnobState
    reason: str = ""


@dataclass(frozen=True)
class Report:
    """The results for one version of a stack. `digest` is its program's, None if it could not be installed.

    `honoured` has every knob of the release that sources are nearest to; it is empty for a release itself.
    """

    stack: str
    version: str
    digest: str | None
    engine: str
    made_unix_s: int
    results: tuple[CheckResult, ...]
    setting: Mapping[str, str] = field(default_factory=dict)
    honoured: tuple[Honoured, ...] = field(default=(), metadata={"omitted_when_empty": True})

    @property
    def failed(self) -> tuple[CheckResult, ...]:
        """Return the checks that failed."""
        return tuple(result for result in self.results if result.status is CheckStatus.FAILED)
