"""The proxy of a trial as it runs, with the relay beside the client if clients tunnel; a trial without one has one
that never runs.
"""

from collections.abc import Iterator
from dataclasses import replace

from longlook.core import Job, Trial, with_port
from longlook.lab.addresses import SERVER_PORT, plan_of
from longlook.lab.flow_run import observations_of
from longlook.lab.observations import Observations
from longlook.lab.process import Process
from longlook.lab.programs import Launch, stack_of, start_proxy, start_relay


def connected_to(trial: Trial) -> str:
    """Return the address that a trial's client connects to: the server's, a proxy's, or a nearby relay's."""
    addresses = plan_of(trial)
    if trial.proxy is None:
        return addresses.server
    return addresses.middle if stack_of(trial.proxy).relay_command is None else addresses.client


class ProxyRun:
    """The processes of a trial's proxy, once they are started: the proxy's own first."""

    def __init__(self) -> None:
        self.processes: list[Process] = []

    def start(self, job: Job, middle: Launch, client: Launch) -> Iterator[Process]:
        """Start the proxy in the middle, to carry on to the server, and then the relay beside the client if it has one.

        Yield each process when it is started; the caller closes it.
        """
        addresses = plan_of(job.trial)
        at, server = (with_port(each, SERVER_PORT) for each in (addresses.middle, addresses.server))
        self.processes.append(start_proxy(job, server, middle))
        yield self.processes[-1]
        if (relay := start_relay(job, at, server, client)) is not None:
            self.processes.append(relay)
            yield relay

    @property
    def ready(self) -> bool:
        """Return whether clients may connect."""
        return all(process.events("ready") for process in self.processes)

    @property
    def lost(self) -> bool:
        """Return whether one has ended; before the testbed is taken down that is by itself."""
        return any(process.exit is not None for process in self.processes)

    def observations(self, before: Observations) -> Observations:
        """Return what is known of it in the end; `before` is what was known before it was stopped."""
        lines = tuple(line for process in self.processes for line in process.lines)
        broke = next((process.broke for process in self.processes if process.broke), before.broke)
        return replace(before, lines=lines, broke=broke)

    def seen(self) -> Observations:
        """Return what is known of it by now, as of one program, which ends as the first process that has ended."""
        found = [observations_of(process) for process in self.processes]
        if not found:
            return observations_of(None)
        ended = next((each for each in found if each.exit_code is not None), found[0])
        return replace(ended, lines=tuple(line for each in found for line in each.lines))

    def cpu_s(self) -> dict[str, float]:
        """Return CPU seconds by the name of the process, {} without one."""
        return {process.name: process.exit.cpu_s if process.exit else 0.0 for process in self.processes}
