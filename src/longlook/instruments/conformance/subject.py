"""Assigns the roles when one version of a stack is checked: itself, its peer, and the endpoint whose qlog is read."""

from collections.abc import Iterator
from dataclasses import dataclass

from longlook.core import EITHER, ConnectionState, Endpoint, InputError, Scalar, Stack, registry
from longlook.provision import parse_program

REFERENCE = "quic-go@0.65.0"
"""The other endpoint for stacks that have one role; in its qlog the parameters of a peer are read."""

_RFC_9000 = "2021-05-27"

AMPLE_BYTES = 1 << 24
_UNLIMITED: dict[str, Scalar] = {"pacing": False, "initial_rtt": 0.5}  # longer than the round trip of any check's path
_WINDOWS = ("initial_stream_window", "initial_connection_window", "max_stream_window", "max_connection_window")


@dataclass(frozen=True)
class Subject:
    """A version under test, the peer that plays the other role, and the witness, whose qlog is read."""

    stack: Stack
    version: str
    peer: Endpoint
    witness: Endpoint

    @property
    def end(self) -> Endpoint:
        """Return the version under test as an endpoint."""
        return Endpoint(self.stack.name, self.version)

    @property
    def name(self) -> str:
        """Return NAME@VERSION."""
        return f"{self.stack.name}@{self.version}"

    def settings(self) -> Iterator[tuple[str, str]]:
        """Yield (role, protocol) for each that it has and whose protocol the other endpoint speaks, `h3-or-h2` too."""
        for role in self.stack.end_roles:
            for protocol in (*self.stack.protocols_of(self.version), EITHER.name):
                other = self.other(role)
                theirs = "client" if role == "server" else "server"
                if self.stack.speaks(self.version, protocol) and stack_of(other).speaks(
                    other.version, protocol, theirs
                ):
                    yield role, protocol

    def other(self, role: str) -> Endpoint:
        """Return the endpoint that plays the other role."""
        return self.peer if role in ("server", "client") else self.end

    def server(self, role: str) -> Endpoint:
        """Return the server of a trial in which the subject plays `role`."""
        return self.end if role == "server" else self.other(role)

    def client(self, role: str) -> Endpoint:
        """Return the client of a trial in which the subject plays `role`."""
        return self.end if role == "client" else self.other(role)

    def can(self, role: str, protocol: str, state: ConnectionState) -> bool:
        """Return whether both endpoints can bring a connection into a state."""
        both = (self.end, self.other(role))
        return all(state in stack_of(end).connections_of(end.version, protocol) for end in both)


def stack_of(end: Endpoint) -> Stack:
    """Return the stack of an endpoint."""
    return registry.stack(end.stack)


def protocols_of(end: Endpoint) -> tuple[str, ...]:
    """Return the protocols that an endpoint speaks."""
    return stack_of(end).protocols_of(end.version)


def ample_knobs(end: Endpoint, role: str, protocol: str) -> dict[str, Scalar]:
    """Return knobs of an endpoint, whose peer plays `role`, with which it does not limit the peer.

    They set wide windows, no pacing, and an initial RTT that avoids early retransmissions of the handshake.
    """
    own = "client" if role == "server" else "server"
    declared = {
        name: knob for name, knob in stack_of(end).knobs_of(end.version, own).items() if knob.applies_to(protocol)
    }
    windows = (name for name in _WINDOWS if name in declared)
    found: dict[str, Scalar] = {name: int(min(AMPLE_BYTES, declared[name].maximum or AMPLE_BYTES)) for name in windows}
    return found | {name: value for name, value in _UNLIMITED.items() if name in declared}


def endpoint(part: str) -> Endpoint:
    """Return `quic-go` or `quic-go@0.65.0` as an endpoint; raise InputError for an unknown name."""
    stack, version = parse_program(part)
    return Endpoint(stack.name, version)


def subject(part: str, peer: str | None = None) -> Subject:
    """Return a version of a stack with its peer: `peer`, else itself if it has both roles, else the reference.

    Raise InputError for an unknown name, and for a peer without a common protocol.
    """
    stack, version = parse_program(part)
    if not stack.end_roles:
        raise InputError(
            f"{stack.name} is a proxy alone, and only servers and clients are checked", "see docs/results/proxies.md"
        )
    if stack.outside:
        hint = "longlook measure https://HOST/PATH compares its protocols"
        raise InputError(f"{stack.name} is a server of the world outside: no trial here could check it", hint)
    witness = endpoint(REFERENCE)
    both = {"server", "client"} <= set(stack.roles)
    released = stack.version(version).released  # empty where what is installed decides
    if both and "" < released < _RFC_9000:  # it may speak only drafts, which no other stack speaks
        witness = Endpoint(stack.name, version)
    own = both and not stack.of_images  # neither end of an image needs to say what proves a trial
    other = endpoint(peer) if peer else Endpoint(stack.name, version) if own else witness
    shared = set(stack.protocols_of(version)) & set(protocols_of(other))
    if not shared:
        raise InputError(
            f"{stack.name}@{version} and {other.stack}@{other.version} share no protocol", "name another --peer"
        )
    return Subject(stack, version, other, witness)
