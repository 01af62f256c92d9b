"""The proxy of a trial as it runs, and what is known of it; a trial without one has one that never runs."""

from dataclasses import replace

from longlook.core.job import Job
from longlook.lab.flow_run import observations_of
from longlook.lab.observations import Observations
from longlook.lab.process import Process
from longlook.lab.programs import Launch, start_proxy


class ProxyRun:
    """The process of a trial's proxy, once it is started."""

    def __init__(self) -> None:
        self.process: Process | None = None

    def start(self, job: Job, upstream: str, launch: Launch) -> Process:
        """Start it, to carry on to the server at `upstream` (`ip:port`); the caller closes the process."""
        self.process = start_proxy(job, upstream, launch)
        return self.process

    @property
    def processes(self) -> list[Process]:
        """Return its process, or nothing."""
        return [] if self.process is None else [self.process]

    @property
    def ready(self) -> bool:
        """Return whether clients may connect."""
        return all(process.events("ready") for process in self.processes)

    @property
    def lost(self) -> bool:
        """Return whether it has ended; before the testbed is taken down that is by itself."""
        return any(process.exit is not None for process in self.processes)

    def observations(self, before: Observations) -> Observations:
        """Return what is known of it in the end; `before` is what was known before it was stopped."""
        if self.process is None:
            return before
        return replace(before, lines=tuple(self.process.lines), broke=self.process.broke)

    def seen(self) -> Observations:
        """Return what is known of it by now."""
        return observations_of(self.process)

    def cpu_s(self) -> dict[str, float]:
        """Return its CPU seconds by role, {} without one."""
        if self.process is None:
            return {}
        return {self.process.name: self.process.exit.cpu_s if self.process.exit else 0.0}
