"""The emulated links of a trial as they run: a `longlook-link` process for each, started and ended together."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from longlook.core.job import Job
from longlook.lab.environment import Environment
from longlook.lab.flow_run import observations_of
from longlook.lab.guard import together
from longlook.lab.linux.namespace import Namespace
from longlook.lab.observations import Observations
from longlook.lab.process import Process
from longlook.lab.router import Router, finish
from longlook.lab.topology import EndpointNamespace

MAIN = ""
"""The name of the main link; the others have that of `Trial.further`."""


class Links:
    """The routers of a trial by name, the main one first. Each needs a namespace of its own, which has its devices."""

    def __init__(self, job: Job, environment: Environment, options: Sequence[str]) -> None:
        self._job, self._environment, self._options = job, environment, options
        self._routers: dict[str, Router] = {}

    def start(self, name: str, namespace: Namespace, client: EndpointNamespace, server: EndpointNamespace) -> Process:
        """Start a link between two sides and return its process, which the caller closes."""
        router = Router(self._job, namespace, client, server, self._environment, self._options, name)
        self._routers[name] = router
        return router.process

    @property
    def processes(self) -> list[Process]:
        """Return the processes of all links."""
        return [router.process for router in self._routers.values()]

    @property
    def ended(self) -> bool:
        """Return whether one of them has ended."""
        return any(process.exit is not None for process in self.processes)

    @property
    def ready(self) -> bool:
        """Return whether packets would flow over all of them."""
        return all(router.ready for router in self._routers.values())

    def raise_if_not_ready(self) -> None:
        """Raise MachineError where one ended or hangs before it was ready, InputError where it refuses the network."""
        for router in self._routers.values():
            router.raise_if_not_ready()

    def finish(self, *, drain: bool) -> None:
        """Stop all; `drain`: wait for the last packet, which may cross several links."""
        finish(list(self._routers.values()), drain=drain)

    def summary(self) -> Mapping[str, Any]:
        """Return the links' summary lines as one, for the guard; {} where one left none."""
        return together([router.summary() for router in self._routers.values()])

    def counters(self) -> dict[str, Mapping[str, int]]:
        """Return the counters of each direction as `Run.link` has them: `up`, and of a further link `behind.up`."""
        return {
            f"{name}.{direction}" if name else direction: router.summary()[direction]
            for name, router in self._routers.items()
            for direction in ("up", "down")
            if direction in router.summary()
        }

    def observations(self) -> Observations:
        """Return what is known of all links as of one program: its ending is that of the first that failed."""
        found = [observations_of(process) for process in self.processes]
        worst = next((each for each in found if each.exit_code), found[0])
        return replace(worst, lines=tuple(line for each in found for line in each.lines))

    def cpu_s(self) -> dict[str, float]:
        """Return the CPU seconds of each link that has ended, by the name of its process."""
        return {process.name: process.exit.cpu_s if process.exit else 0.0 for process in self.processes}
