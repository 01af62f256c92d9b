"""The client of a trial: a program of its own, or one that is already warm. The trial treats both alike."""

import json
from contextlib import nullcontext
from pathlib import Path
from typing import Protocol

from longlook.core.stack import ClientJob, Command
from longlook.lab.artefacts import write_json
from longlook.lab.linux.cpuquota import CpuQuota
from longlook.lab.linux.proctable import cpu_of_tree
from longlook.lab.process import Process, start, stop
from longlook.lab.session import Session, Sessions
from longlook.lab.topology import Side
from longlook.lab.warm_traces import WarmTraces


class Client(Protocol):
    """What a trial needs of a client. `process` exists from `begin` on, and earlier where it is warm."""

    session: bool

    @property
    def process(self) -> Process | None:
        """The running program."""
        ...

    def ready(self) -> bool:
        """Whether it can be given its job."""
        ...

    def begin(self, job: ClientJob) -> None:
        """Let it go."""
        ...

    def done(self) -> bool:
        """Whether it has ended, or ended its job."""
        ...

    def finish(self, *, trusted: bool) -> float:
        """Stop it where it should not stay (`trusted`: it did its job), save what it left; its CPU seconds."""
        ...


class PlainClient:
    """A client that is started for its job and ends with it."""

    session = False

    def __init__(
        self,
        command: Command,
        env: dict[str, str],
        side: Side,
        folder: Path,
        job_file: Path,
        quota: CpuQuota | None = None,
    ) -> None:
        self._command, self._env, self._side, self._folder, self._job_file = command, env, side, folder, job_file
        self._quota = quota
        self.process: Process | None = None

    def ready(self) -> bool:
        """Always: there is nothing to wait for."""
        return True

    def begin(self, job: ClientJob) -> None:
        """Start it."""
        write_json(self._job_file, job.data())
        with self._quota.inside() if self._quota else nullcontext():
            self.process = start(
                "client",
                self._command.argv,
                self._side.namespace,
                self._env,
                stdout_log=self._folder / "client.jsonl",
                stderr_log=self._folder / "client.stderr",
            )

    def done(self) -> bool:
        """Whether it has ended."""
        return self.process is not None and self.process.exit is not None

    def finish(self, *, trusted: bool) -> float:
        """End it if it still runs."""
        if self.process is None:
            return 0.0
        stop(self.process)
        cpu_s = self.process.exit.cpu_s if self.process.exit else 0.0
        self.process.close()
        return cpu_s


class SessionClient:
    """A warm client that gets its job as a line."""

    session = True

    def __init__(self, session: Session, sessions: Sessions, folder: Path) -> None:
        self._session, self._sessions, self._folder = session, sessions, folder
        self._cpu_before_s = 0.0
        self._finished = False
        self._traces = WarmTraces(session)

    @property
    def process(self) -> Process:
        """The warm program."""
        return self._session.process

    def ready(self) -> bool:
        """Whether it has once said so."""
        self._session.ready = self._session.ready or bool(self.process.events("ready"))
        return self._session.ready

    def begin(self, job: ClientJob) -> None:
        """Hand it the job."""
        self.process.read()  # what it said since its last job belongs to no job
        self.process.redirect(self._folder / "client.jsonl")
        self._cpu_before_s = cpu_of_tree(self.process.pid)
        self.process.write_line(json.dumps(job.data()))

    def done(self) -> bool:
        """Whether it has said so, or ended."""
        return bool(self.process.events("done")) or self.process.exit is not None

    def finish(self, *, trusted: bool) -> float:
        """Keep it warm, or end it when it failed. Only the first call counts."""
        if self._finished:
            return 0.0
        self._finished = True
        cpu_s = max(0.0, cpu_of_tree(self.process.pid) - self._cpu_before_s) if self.process.exit is None else 0.0
        self.process.redirect(None)
        self._traces.keep(self._folder)
        if not trusted:
            self._sessions.drop(self._session)
        return cpu_s
