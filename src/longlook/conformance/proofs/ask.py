"""What a proof is asked: one knob of one end, and how to make the trials that show its effect."""

from collections.abc import Mapping
from dataclasses import dataclass, replace

from longlook.conformance import Check, Judge, Want, inapplicable
from longlook.conformance.links import usual
from longlook.core.model import ConnectionState, Endpoint, Link, Scalar, Workload
from longlook.core.stack import Knob


def transfer(size_bytes: int) -> Workload:
    """One object in a page of one: browsers can load it too."""
    return Workload("page", {"objects": 1, "object_bytes": size_bytes})


@dataclass(frozen=True)
class Ask:
    """`end` is under test in `role`; `peer` plays the other one, `witness` does where its qlog is wanted.

    `siblings` are the knobs of the same end: a proof may need one to hold another's effect apart. `ample` are knobs of
    the peer under which nothing of its own holds the end back.
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
        """A trial with `knobs` set at the end under test. `witnessed`: against the peer whose qlog is read.

        `unlimited`: by windows and pacing of the peer.
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
        """Knobs of the end under test, where it has them: no pacing, and no retransmission of the handshake before its
        answer can be there, which some take for a sign of congestion.
        """
        wanted: dict[str, Scalar] = {"pacing": False, "initial_rtt": 1.25 * rtt_s}
        known = {name: self.siblings[name] for name in wanted if name in self.siblings and name != self.name}
        return {
            name: wanted[name] for name, knob in known.items() if not knob.protocols or self.protocol in knob.protocols
        }

    def value(self, wanted: float) -> Scalar:
        """A number as near to the wanted one as the knob's bounds allow."""
        low = self.knob.minimum if self.knob.minimum is not None else wanted
        high = self.knob.maximum if self.knob.maximum is not None else wanted
        return self.knob.kind(min(max(wanted, low), high))

    def check(self, wants: Mapping[str, Want], judge: Judge) -> Check:
        """The check that this proof comes to."""
        return Check(self.title, wants, judge, self.name, self.role)

    def without(self, why: str) -> Check:
        """Nothing to prove in this role."""
        return inapplicable(self.title, why, self.name, self.role)

    @property
    def title(self) -> str:
        """The check's name."""
        return f"knob {self.name} ({self.role}, {self.protocol})"

    @property
    def other_role(self) -> str:
        """The peer's role."""
        return "client" if self.role == "server" else "server"
