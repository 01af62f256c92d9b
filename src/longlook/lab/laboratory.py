"""The laboratory of one agent: it runs trials one after another, with session clients that stay between them."""

import os
import resource
from contextlib import suppress
from pathlib import Path

from longlook.core import Job, Run, children_of
from longlook.lab.environment import Environment
from longlook.lab.linux.users import FIRST_USER
from longlook.lab.process import end_everything, kill_orphan
from longlook.lab.programs import program_names
from longlook.lab.sandbox import Sandbox
from longlook.lab.session import Sessions
from longlook.lab.testbed import Facilities
from longlook.lab.timing import Timing
from longlook.lab.topology import datapath
from longlook.lab.trial import run_trial

_OPEN_FILES, _OPEN_FILES_A_FLOW = 200, 24
"""The most files that a laboratory has open: for itself, and for the client and the server of each flow."""

_ROUNDS = 100  # of killing orphans: the children of an orphan come to light when it is gone


class Laboratory:
    """Runs jobs. Its process must be pid 1 of a PID namespace, so that orphans of programs become its children.

    `scratch` is an existing folder, at whose path programs have temporary files; `private` is one that they cannot
    enter. `marker` is the laboratory's name in programs and control groups. `outside` is a descriptor of the network
    namespace that it was started in; None in a guest. `first_user` is the first id in the block of its programs' users.
    `outlets` is a folder for the output that programs write through descriptors, if it is not to go into the trial's
    folder; `exchange` is a guest's folder of the host.
    """

    def __init__(
        self,
        scratch: Path,
        private: Path,
        marker: str,
        timing: Timing,
        outside: int | None = None,
        first_user: int = FIRST_USER,
        outlets: Path | None = None,
        exchange: Path | None = None,
    ) -> None:
        environment, path = Environment(scratch, marker), datapath()
        self._sandbox = sandbox = Sandbox(scratch, private, marker, first_user, virtual=timing.virtual)
        self._sessions = Sessions(environment, sandbox, outlets or private, path, outside)
        self._facilities = Facilities(self._sessions, environment, sandbox, path, timing, outlets, exchange, outside)
        self._trials = 0

    def run(self, job: Job) -> Run:
        """Run one trial and return its result; see `run_trial`."""
        self._trials += 1
        _allow_open_files(len(job.trial.each_flow()), more=self._facilities.timing.virtual)
        self._sandbox.prepare(program_names(job))
        try:
            return run_trial(job, self._facilities, self._trials)
        finally:
            self._end_orphans()

    def close(self) -> None:
        """End the session clients and everything else."""
        self._sessions.close()
        self._end_orphans()

    def _end_orphans(self) -> None:
        """Kill orphans that programs left; processes in a session client's namespace belong to it
        (a crash reporter).
        """
        sessions = self._sessions.processes()
        kept = {process.pid for process in sessions}
        kept |= {process.compartment.init for process in sessions if process.compartment is not None}
        if not kept and os.getpid() == 1:
            end_everything()
            return
        homes = {os.fstat(namespace.descriptor).st_ino for namespace in self._sessions.namespaces()}
        for _ in range(_ROUNDS):
            orphans = [pid for pid in children_of(os.getpid()) if pid not in kept and _home_of(pid) not in homes]
            if not orphans:
                return
            for pid in orphans:
                kill_orphan(pid)


def _home_of(pid: int) -> int | None:
    """Return the inode of the network namespace of a process; None if it is gone."""
    with suppress(OSError):
        return Path(f"/proc/{pid}/ns/net").stat().st_ino
    return None


def _allow_open_files(flows: int, *, more: bool) -> None:
    """Raise this process's limit of open files if many flows need more than it has. The hard limit bounds it, unless
    `more`: root of a guest, to whom Linux gives 4096, may go beyond.
    """
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    needed = _OPEN_FILES + flows * _OPEN_FILES_A_FLOW
    if soft != resource.RLIM_INFINITY and soft < needed:
        if more and hard != resource.RLIM_INFINITY:
            hard = max(hard, needed)
        limit = needed if hard == resource.RLIM_INFINITY else min(needed, hard)
        resource.setrlimit(resource.RLIMIT_NOFILE, (limit, hard))
