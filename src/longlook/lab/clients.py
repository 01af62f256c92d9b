"""The client of a trial: a program that is started for it, or a session client that stays between trials.

The trial treats both alike.
"""

import json
from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from longlook.core import ClientJob, ExpectedAnswer, cpu_of_tree
from longlook.lab.artefacts import write_json
from longlook.lab.linux.confine import Confinement
from longlook.lab.linux.cpuquota import CpuQuota
from longlook.lab.linux.namespace import Namespace
from longlook.lab.observations import LeftFile
from longlook.lab.process import CrowdedOutError, Process, start, stop
from longlook.lab.results import take_results
from longlook.lab.session import ClientSession, Sessions
from longlook.lab.session_traces import SessionTraces


@dataclass(frozen=True)
class Prepared:
    """How a program is started; its output goes to `NAME.jsonl` in `folder` and to `NAME.stderr` in `outlet`."""

    name: str
    argv: Sequence[str]
    namespace: Namespace
    env: Mapping[str, str]
    folder: Path
    outlet: Path
    confinement: Confinement
    says_ready: bool = True  # False: it is ready once it listens

    def confine(self) -> None:
        """Begin to confine it while other things are done; errors are raised by `start`."""
        self.confinement.prepare(self.namespace.descriptor)

    def start(self) -> Process:
        """Start the program and return its process; errors as of `process.start`, after which nothing of it is left."""
        try:
            process = start(
                self.name,
                self.argv,
                self.namespace,
                self.env,
                stdout_log=self.folder / f"{self.name}.jsonl",
                stderr_log=self.outlet / f"{self.name}.stderr",
                confinement=self.confinement,
            )
            process.says_ready = self.says_ready
        except BaseException:
            self.close()
            raise
        return process

    def close(self) -> None:
        """Give up what was made for a program that was not started."""
        self.confinement.close()


class Client(Protocol):
    """The methods of a client that a trial calls. `process` exists from `begin` on, and before that for a session
    client.
    """

    session: bool
    remote: bool  # it is another machine, of which the process here is the driver
    clock_ns: int | None  # `timing.unix_minus_monotonic_ns` when it was started; None: in this trial
    files: Mapping[str, LeftFile] | None  # by URL path, what it left in place of lines, once it has finished

    @property
    def process(self) -> Process | None:
        """Return the running program, None before it is started."""
        ...

    def prepare(self) -> None:
        """Do ahead of `begin` what takes time and influences nothing, while the laboratory waits for other programs."""
        ...

    def ready(self) -> bool:
        """Return whether it can be given its job."""
        ...

    def begin(self, job: ClientJob) -> None:
        """Give it its job."""
        ...

    def done(self) -> bool:
        """Return whether it has finished its job or ended."""
        ...

    def finish(self, *, trusted: bool) -> float:
        """Save its traces, stop it if it should not stay, and return its CPU seconds; `trusted`: it did its job."""
        ...


class PlainClient:
    """A client that is started for its job and ends with it."""

    session = False
    remote = False
    clock_ns: int | None = None

    def __init__(
        self,
        program: Prepared,
        quota: CpuQuota | None,
        job_file: Path,
        expected: Mapping[str, ExpectedAnswer] | None = None,
    ) -> None:
        """Take how it is started; `expected` is what it leaves as files, None if it prints lines."""
        self._program, self._quota, self._job_file, self._expected = program, quota, job_file, expected
        self._crowded_out = False
        self.files: Mapping[str, LeftFile] | None = None
        self.process: Process | None = None

    def prepare(self) -> None:
        """Begin to confine the program, but not what would then be no member of its control group."""
        if self._quota is None:
            self._program.confine()

    def ready(self) -> bool:
        """Return True: there is nothing to wait for."""
        return True

    def begin(self, job: ClientJob) -> None:
        """Write the job's file and start the program."""
        write_json(self._job_file, job.data())
        try:
            with self._quota.inside() if self._quota else nullcontext():
                self.process = self._program.start()
        except CrowdedOutError:
            self._crowded_out = True

    def done(self) -> bool:
        """Return whether it has ended, or cannot begin."""
        return self._crowded_out or (self.process is not None and self.process.exit is not None)

    def finish(self, *, trusted: bool) -> float:
        """Stop it if it still runs; return its CPU seconds."""
        if self.process is None:
            self._program.close()
            return 0.0
        stop(self.process)
        if self._expected is not None and self.process.room is not None:
            self.files = take_results(self.process.room.results, self._expected)
        cpu_s = self.process.exit.cpu_s if self.process.exit else 0.0
        self.process.close()
        return cpu_s


class SessionClient:
    """A session client: it stays between trials and gets its job as a line."""

    session = True
    files: Mapping[str, LeftFile] | None = None

    def __init__(self, session: ClientSession, sessions: Sessions, folder: Path) -> None:
        self._session, self._sessions, self._folder = session, sessions, folder
        self.remote = session.remote
        self.clock_ns: int | None = session.clock_ns
        self._cpu_before_s = 0.0
        self._finished = False
        self._traces = SessionTraces(session)

    @property
    def process(self) -> Process:
        """Return the running program."""
        return self._session.process

    def prepare(self) -> None:
        """Do nothing: it was started already."""

    def ready(self) -> bool:
        """Return whether it has printed its ready line, in this trial or in an earlier one."""
        self._session.ready = self._session.ready or bool(self.process.events("ready"))
        return self._session.ready

    def begin(self, job: ClientJob) -> None:
        """Write the job to its standard input."""
        self.process.read()  # what it printed since its last job belongs to no job
        self.process.redirect(self._folder / "client.jsonl")
        self._cpu_before_s = cpu_of_tree(self.process.pid)
        self.process.write_line(json.dumps(job.data()))

    def done(self) -> bool:
        """Return whether it has printed `done`, or ended."""
        return bool(self.process.events("done")) or self.process.exit is not None

    def finish(self, *, trusted: bool) -> float:
        """Save its traces and keep it running, or end it when it failed; return its CPU seconds.

        Only the first call has an effect.
        """
        if self._finished:
            return 0.0
        self._finished = True
        cpu_s = max(0.0, cpu_of_tree(self.process.pid) - self._cpu_before_s) if self.process.exit is None else 0.0
        self.process.redirect(None)
        self._traces.copy_to(self._folder)
        if not trusted:
            self._sessions.drop(self._session)
        return cpu_s
