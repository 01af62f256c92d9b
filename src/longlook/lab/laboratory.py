"""The laboratory of one agent: session clients, a scratch folder, and trials one after another."""

import os
from contextlib import suppress
from pathlib import Path

from longlook.core.job import Job
from longlook.core.model import Run
from longlook.lab.environment import Environment
from longlook.lab.linux.proctable import children_of
from longlook.lab.process import kill_stray
from longlook.lab.session import Sessions
from longlook.lab.timing import Timing
from longlook.lab.topology import datapath
from longlook.lab.trial import run_trial


class Laboratory:
    """Runs jobs; must be pid 1 of a PID namespace, so that what programs leave behind is its to end."""

    def __init__(self, scratch: Path, marker: str, timing: Timing) -> None:
        self._path = datapath()
        self._environment = Environment(scratch, marker)
        self._sessions = Sessions(self._environment, self._path)
        self._timing = timing
        self._trials = 0

    def run(self, job: Job) -> Run:
        """Run one trial; see `run_trial`."""
        self._trials += 1
        try:
            return run_trial(job, self._sessions, self._environment, self._path, self._trials, self._timing)
        finally:
            self._end_strays()

    def close(self) -> None:
        """End the session clients and everything else."""
        self._sessions.close()
        self._end_strays()

    def _end_strays(self) -> None:
        """Kill orphans that programs left; those in a session client's namespace belong to it (a crash reporter)."""
        kept = {process.pid for process in self._sessions.processes()}
        homes = {os.fstat(namespace.descriptor).st_ino for namespace in self._sessions.namespaces()}
        for pid in children_of(os.getpid()):
            with suppress(OSError):
                if pid not in kept and Path(f"/proc/{pid}/ns/net").stat().st_ino not in homes:
                    kill_stray(pid)
