"""The input of a proof: one knob of one endpoint, and methods that make the trials that show its effect."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import TypedDict, TypeVar, Unpack

from longlook.core import ConnectionState, Endpoint, Knob, Link, Scalar, Workload
from longlook.instruments.conformance.checks import Check, CheckFinding, Judge, Want, comparing, inapplicable
from longlook.instruments.conformance.evidence import Seen
from longlook.instruments.conformance.links import usual

Measure = TypeVar("Measure")


class TrialSetting(TypedDict, total=False):
    """The arguments of `Ask.want` that trials of a comparison share."""

    link: Link | None
    workload: Workload | None
    witnessed: bool
    unlimited: bool
    connection: ConnectionState
    timeout_s: float


def transfer(size_bytes: int) -> Workload:
    """Return a workload of one object, as a page that browsers can load too."""
    return Workload("page", {"objects": 1, "object_bytes": size_bytes})


@dataclass(frozen=True)
class Ask:
    """The knob `name` of the endpoint `end` in `role`. `peer` plays the other role, `witness` if its qlog is read.

    `siblings` are the knobs of the same endpoint: a proof may need one to isolate another's effect. `ample` are knobs
    of the peer with which it does not limit the endpoint.
    """

    name: str
    knob: Knob
    role: str
    protocol: str
    end: Endpoint
    peer: Endpoint
    witness: Endpoint
    siblings: Mapping[str, Knob]
    ample: Mapping[str, Scalar]

    def want(
        self,
        knobs: Mapping[str, Scalar],
        link: Link | None = None,
        workload: Workload | None = None,
        *,
        witnessed: bool = False,
        unlimited: bool = False,
        connection: ConnectionState = ConnectionState.COLD,
        timeout_s: float = 60.0,
    ) -> Want:
        """Return a trial with `knobs` set at the endpoint under test; link and workload default to usual ones.

        `witnessed`: the peer is the one whose qlog is read. `unlimited`: the peer's windows and pacing do not limit it.
        """
        own = replace(self.end, knobs=dict(knobs))
        peer = replace(self.peer, knobs=dict(self.ample)) if unlimited else self.peer
        other = self.witness if witnessed else peer
        return Want(
            protocol=self.protocol,
            link=link or usual(),
            workload=workload or transfer(100_000),
            server=own if self.role == "server" else other,
            client=own if self.role == "client" else other,
            connection=connection,
            qlog=witnessed,
            timeout_s=timeout_s,
        )

    def steady(self, rtt_s: float) -> dict[str, Scalar]:
        """Return knobs of the endpoint under test, as far as it has them, for steady sending.

        They set no pacing, and an initial RTT that avoids early retransmissions of the handshake: some stacks take
        these for a sign of congestion.
        """
        wanted: dict[str, Scalar] = {"pacing": False, "initial_rtt": 1.25 * rtt_s}
        known = {name: self.siblings[name] for name in wanted if name in self.siblings and name != self.name}
        return {name: wanted[name] for name, knob in known.items() if knob.applies_to(self.protocol)}

    def value(self, wanted: float) -> Scalar:
        """Return the value nearest to the wanted one within the knob's bounds."""
        low = self.knob.minimum if self.knob.minimum is not None else wanted
        high = self.knob.maximum if self.knob.maximum is not None else wanted
        return self.knob.kind(min(max(wanted, low), high))

    def compare(
        self,
        values: Mapping[str, Scalar | None],
        read: Callable[[Seen], Measure | None],
        judge: Callable[[Mapping[str, Measure]], CheckFinding],
        *,
        apart: Mapping[str, Scalar] | None = None,
        **setting: Unpack[TrialSetting],
    ) -> Check:
        """Return the check that runs a trial for each value of the knob, reads one measure of each, and judges these.

        `values` are by the trials' names; None leaves the knob as it is. `apart` are other knobs of all trials. A trial
        that fails, or of which `read` returns None, makes the check fail by itself.
        """
        common = apart or {}
        wants = {
            name: self.want(common if value is None else {**common, self.name: value}, **setting)
            for name, value in values.items()
        }
        return self.check(wants, comparing(read, judge))

    def check(self, wants: Mapping[str, Want], judge: Judge) -> Check:
        """Return the check of this proof."""
        return Check(self.title, wants, judge, self.name, self.role)

    def without(self, why: str) -> Check:
        """Return a check that does not apply in this role, with the reason."""
        return inapplicable(self.title, why, self.name, self.role)

    @property
    def title(self) -> str:
        """Return the check's name."""
        return f"knob {self.name} ({self.role}, {self.protocol})"

    @property
    def other_role(self) -> str:
        """Return the peer's role."""
        return "client" if self.role == "server" else "server"
