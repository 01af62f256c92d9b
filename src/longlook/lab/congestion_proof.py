"""The proof of which congestion control the kernel's TCP really used, gathered while flows run."""

import math
from collections.abc import Sequence

from longlook.lab.flow_run import FlowRun
from longlook.lab.judge import FlowKind
from longlook.lab.linux.sockets import SocketProbe
from longlook.lab.programs import stack_of
from longlook.lab.topology import Side

PROOF_EVERY_S = 0.01
"""How often the kernel is asked for the congestion control of a connection that no program announces."""


class ControlProof:
    """Asks the kernel of both ends: whenever a server announces a connection, and often where none does so in time."""

    def __init__(self, pairs: Sequence[FlowRun], sides: Sequence[Side]) -> None:
        self._pairs = [pair for pair in pairs if pair.trial.congestion_control is not None]
        self._probes = [SocketProbe(side.namespace) for side in sides] if self._pairs else []
        self._silent = [
            pair
            for pair in self._pairs
            if not stack_of(pair.trial.server).server_reports_state or pair.kind is not FlowKind.FINITE
        ]
        self._accepted = 0
        self._seen: dict[str, set[str]] = {}

    def look(self) -> None:
        """Ask if there may be something new to see."""
        accepted = sum(len(pair.server.events("connection")) for pair in self._pairs)
        if accepted > self._accepted or self._unseen():
            for probe in self._probes:
                for address, names in probe.congestion_controls().items():
                    self._seen.setdefault(address, set()).update(names)
        self._accepted = accepted

    def every_s(self) -> float:
        """How soon to look again though no program says anything."""
        return PROOF_EVERY_S if self._unseen() else math.inf

    def seen_of(self, pair: FlowRun) -> frozenset[str]:
        """What a flow's connections used; of a trial with one flow, what any connection did."""
        ends = self._seen if pair.flow is None else (pair.addresses.client, pair.addresses.server)
        return frozenset().union(*(self._seen.get(address, ()) for address in ends))

    def close(self) -> None:
        """Let go of the namespaces."""
        for probe in self._probes:
            probe.close()

    def _unseen(self) -> bool:
        return any(pair.began_unix_ns is not None and not self.seen_of(pair) for pair in self._silent)
