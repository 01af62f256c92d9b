"""Tries every client against every server over one protocol: one object of 1 MB, and a small page."""

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from pathlib import Path

from longlook.conformance import Want
from longlook.conformance.evidence import Seen
from longlook.conformance.links import usual
from longlook.conformance.runner import run_wants
from longlook.core.model import Endpoint, Workload
from longlook.core.stack import Stack
from longlook.engines import Engine

_WORKLOADS: Mapping[str, Workload] = {
    "object of 1 MB": Workload("page", {"objects": 1, "object_bytes": 1_000_000}),
    "page of 20": Workload("page", {"objects": 20, "object_bytes": 5_000}),
}
_TIMEOUT_S = 30.0

WORKS, NOTHING_SHARED = "✓", "–"


@dataclass(frozen=True)
class Pair:
    """A cell of the matrix. `reason` is None where it works; `shared` is false where one lacks the protocol."""

    server: str
    client: str
    shared: bool
    reason: str | None


@dataclass(frozen=True)
class Matrix:
    """The results of all pairs; servers and clients are NAME@VERSION."""

    protocol: str
    engine: str
    made_unix_s: int
    servers: tuple[str, ...]
    clients: tuple[str, ...]
    pairs: tuple[Pair, ...]

    @property
    def reasons(self) -> tuple[str, ...]:
        """Return each distinct reason of a failure, in order of appearance: the legend."""
        return tuple(dict.fromkeys(pair.reason for pair in self.pairs if pair.reason))

    def mark(self, server: str, client: str) -> str:
        """Return the mark of a pair: ✓, –, or the letter of its reason."""
        (pair,) = (pair for pair in self.pairs if (pair.server, pair.client) == (server, client))
        if not pair.shared:
            return NOTHING_SHARED
        return WORKS if pair.reason is None else key_of(self.reasons.index(pair.reason))


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
    pairs = [
        Pair(server, client, (server, client) in wanted, _reason(wanted.get((server, client), {}), found))
        for server, client in product(names, others)
    ]
    return Matrix(protocol, engine.name, int(time.time()), tuple(names), tuple(others), tuple(pairs))


def _reason(wants: Mapping[str, Want], found: Mapping[str, Seen | str]) -> str | None:
    """Return the workload that failed first, with its outcome and reason; None where none failed."""
    for name, want in wants.items():
        seen = found[want.trial().id]
        if isinstance(seen, str):
            return f"{name}: {seen}"
        if not seen.ok:
            return f"{name}: {seen.why}"
    return None
