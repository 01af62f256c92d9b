"""What is known of a trial once its testbed is taken down."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from longlook.lab.observations import Observations


@dataclass(frozen=True)
class Teardown:
    """The result of taking a testbed down. `clients` and `servers` are in the order of its `flow_runs`."""

    clients: tuple[Observations, ...]
    servers: tuple[Observations, ...]
    link: Observations
    proxy: Observations
    summary: dict[str, Any]  # the links', as one
    counters: Mapping[str, Mapping[str, int]]  # of each link's directions, as in Run
    cpu_s: dict[str, float]  # by role
    modelled_s: dict[str, float]  # by role, of endpoints with processors of their own: what these have worked
    throttling: dict[str, float]  # of a client with a share of a CPU, or of endpoints with processors of their own
    collectors: Mapping[str, str]  # as in Run
    kernel_counts: Mapping[str, Mapping[str, int]]  # as in Run

    @property
    def broke(self) -> bool:
        """Return whether a program broke a limit."""
        return any(seen.broke is not None for seen in (*self.clients, *self.servers, self.proxy))
