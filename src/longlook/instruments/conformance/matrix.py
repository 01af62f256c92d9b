"""Tries every client against every server over one protocol: one object of 1 MB, and a small page.

Beside whether all arrived it has how many round trips the handshake took.
"""

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from pathlib import Path

from longlook.core import Endpoint, Engine, Stack, Workload
from longlook.instruments.conformance.checks import Want
from longlook.instruments.conformance.evidence import Seen
from longlook.instruments.conformance.links import USUAL_RTT_S, usual
from longlook.instruments.conformance.runner import run_wants

_WORKLOADS: Mapping[str, Workload] = {
    "object of 1 MB": Workload("page", {"objects": 1, "object_bytes": 1_000_000}),
    "page of 20": Workload("page", {"objects": 20, "object_bytes": 5_000}),
}
_TIMEOUT_S = 30.0
_WHOLE_WITHIN = 0.25
"""A handshake is a whole number of round trips and the time that its packets take to be sent; more is a timer."""

WORKS, NOTHING_SHARED = "✓", "–"
NOT_REPORTED = "·"


@dataclass(frozen=True)
class MatrixCell:
    """A cell of the matrix. `reason` is None if it works; `shared` is false if one lacks the protocol.

    `handshake_round_trips` is the client's time from opening its connection to the completed handshake in round trips
    of the link; None if the client reported no handshake.
    """

    server: str
    client: str
    shared: bool
    reason: str | None
    handshake_round_trips: float | None = None


@dataclass(frozen=True)
class Matrix:
    """The results of all pairs; servers and clients are NAME@VERSION."""

    protocol: str
    engine: str
    made_unix_s: int
    servers: tuple[str, ...]
    clients: tuple[str, ...]
    pairs: tuple[MatrixCell, ...]

    @property
    def reasons(self) -> tuple[str, ...]:
        """Return each distinct reason of a failure, in order of appearance: the legend."""
        return tuple(dict.fromkeys(pair.reason for pair in self.pairs if pair.reason))

    def mark(self, server: str, client: str) -> str:
        """Return the mark of a pair: ✓, –, or the letter of its reason."""
        pair = self._pair(server, client)
        if not pair.shared:
            return NOTHING_SHARED
        return WORKS if pair.reason is None else key_of(self.reasons.index(pair.reason))

    def handshake(self, server: str, client: str) -> str:
        """Return the round trips of a pair's handshake, such as `1 RTT`; – or · if there is none to report.

        A share of a round trip that sending cannot account for is shown: `1.6 RTT`.
        """
        pair = self._pair(server, client)
        if not pair.shared:
            return NOTHING_SHARED
        if (value := pair.handshake_round_trips) is None:
            return NOT_REPORTED
        whole = round(value)
        return f"{whole} RTT" if abs(value - whole) <= _WHOLE_WITHIN else f"{value:.1f} RTT"

    def _pair(self, server: str, client: str) -> MatrixCell:
        (found,) = (pair for pair in self.pairs if (pair.server, pair.client) == (server, client))
        return found


def key_of(number: int) -> str:
    """Return the letter of a reason by its number: A, B, …, Z, A1, B1, …"""
    return chr(ord("A") + number % 26) + (str(number // 26) if number >= 26 else "")


def make_matrix(
    ends: Sequence[tuple[Stack, str]],
    protocol: str,
    engine: Engine,
    out: Path,
    say: Callable[[str], None],
    jobs: int = 1,
) -> Matrix:
    """Try all pairs of the given versions and return the matrix.

    The versions are installed and the engine has been entered; `out` is the run folder of the trials.
    """
    servers = [(stack, version) for stack, version in ends if "server" in stack.roles]
    clients = [(stack, version) for stack, version in ends if "client" in stack.roles]
    wanted: dict[tuple[str, str], Mapping[str, Want]] = {}
    for (server, one), (client, other) in product(servers, clients):
        if protocol in server.protocols_of(one) and protocol in client.protocols_of(other):
            pair = Endpoint(server.name, one), Endpoint(client.name, other)
            wanted[f"{server.name}@{one}", f"{client.name}@{other}"] = {
                name: Want(protocol, usual(), workload, *pair, timeout_s=_TIMEOUT_S)
                for name, workload in _WORKLOADS.items()
            }
    found = run_wants([want for wants in wanted.values() for want in wants.values()], engine, out, say, jobs)
    names = [f"{stack.name}@{version}" for stack, version in servers]
    others = [f"{stack.name}@{version}" for stack, version in clients]
    pairs = [_pair(server, client, wanted.get((server, client)), found) for server, client in product(names, others)]
    return Matrix(protocol, engine.name, int(time.time()), tuple(names), tuple(others), tuple(pairs))


def _pair(server: str, client: str, wants: Mapping[str, Want] | None, found: Mapping[str, Seen | str]) -> MatrixCell:
    if wants is None:
        return MatrixCell(server, client, shared=False, reason=None)
    first = found[next(iter(wants.values())).trial().id]
    return MatrixCell(
        server, client, True, _reason(wants, found), None if isinstance(first, str) else round_trips(first)
    )


def round_trips(seen: Seen) -> float | None:
    """Return the time of the measured connection's handshake, seen by the client, in round trips of the link."""
    lines = [line for line in seen.events("client", "connection") if not line["primes"]]
    if not lines or lines[0].get("t_handshake_ns") is None:
        return None
    seconds = (lines[0]["t_handshake_ns"] - lines[0]["t_start_ns"]) / 1e9
    return float(seconds / USUAL_RTT_S)


def _reason(wants: Mapping[str, Want], found: Mapping[str, Seen | str]) -> str | None:
    """Return the workload that failed first, with its outcome and reason; None if none failed."""
    for name, want in wants.items():
        seen = found[want.trial().id]
        if isinstance(seen, str):
            return f"{name}: {seen}"
        if not seen.ok:
            return f"{name}: {seen.why}"
    return None
