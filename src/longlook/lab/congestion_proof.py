"""Proves which congestion control the kernel's TCP really uses, by asking the kernel while flows run."""

import math
from collections.abc import Sequence

from longlook.lab.flow_run import FlowRun
from longlook.lab.linux.sockets import SocketProbe
from longlook.lab.observations import FlowKind
from longlook.lab.programs import stack_of
from longlook.lab.topology import EndpointNamespace

PROOF_EVERY_S = 0.01
"""How often the kernel is asked for the congestion control of a connection that no program announces."""


class CongestionProof:
    """Asks the kernels of both endpoints whenever a server reports a connection, and often if none reports in time.

    Flows whose congestion control is not the kernel's are left out.
    """

    def __init__(self, flow_runs: Sequence[FlowRun], sides: Sequence[EndpointNamespace]) -> None:
        self._flow_runs = [run for run in flow_runs if run.trial.congestion_control is not None]
        self._probes = (
            [SocketProbe(namespace) for namespace in dict.fromkeys(side.namespace for side in sides)]
            if self._flow_runs
            else []
        )
        self._silent = [
            run
            for run in self._flow_runs
            if not stack_of(run.trial.server).server_reports_state or run.kind is not FlowKind.FINITE
        ]
        self._accepted = 0
        self._seen: dict[str, set[str]] = {}

    def look(self) -> None:
        """Ask the kernel, if there may be something new."""
        accepted = sum(len(run.server.events("connection")) for run in self._flow_runs)
        if accepted > self._accepted or self._unseen():
            for probe in self._probes:
                for address, names in probe.congestion_controls().items():
                    self._seen.setdefault(address, set()).update(names)
        self._accepted = accepted

    def every_s(self) -> float:
        """Return the seconds after which to look again even if no program prints anything."""
        return PROOF_EVERY_S if self._unseen() else math.inf

    def seen_of(self, run: FlowRun) -> frozenset[str]:
        """Return the congestion controls of a flow's connections; of all connections if the flow does not compete."""
        ends = (run.addresses.client, run.addresses.server) if run.flow.competes else self._seen
        return frozenset().union(*(self._seen.get(address, ()) for address in ends))

    def close(self) -> None:
        """Close the sockets to the kernel."""
        for probe in self._probes:
            probe.close()

    def _unseen(self) -> bool:
        return any(run.began_unix_ns is not None and not self.seen_of(run) for run in self._silent)
