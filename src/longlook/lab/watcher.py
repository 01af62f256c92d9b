"""Watches that the programs of a trial keep their limits while they run, and kills programs that break one.

In real time it looks twice a second. A guest has less to fear, and a look that is due at some time would move the clock
of the trial. So in a guest it looks only when a program ends and when the trial is over. Meanwhile the kernel's own
limits hold, and what a program wrote or printed is counted in any case (`process`, `trial_files`).
"""

import errno
import math
import os
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, suppress
from pathlib import Path

from longlook.lab import limits
from longlook.lab.linux.limit_groups import MEMORY, TASKS
from longlook.lab.process import Process
from longlook.lab.trace_folders import TracePlaces, growth

_EVERY_S = 0.5
_PROBES = 64
_MOST_WEIGHED = 128  # processes: to read what one shares waits while it forks, for a second and more in a fork bomb


class Watcher:
    """Looks at the programs of one trial. `processes` returns the programs that were started so far, by role.

    `traces` are the places of their traces, `scratch` has the files of session clients. In a guest (`virtual`)
    `exchange` is a folder of the host.
    """

    def __init__(
        self,
        processes: Callable[[], dict[str, list[Process]]],
        traces: TracePlaces,
        scratch: Path,
        exchange: Path | None,
        *,
        virtual: bool,
    ) -> None:
        self._processes, self._traces, self._scratch = processes, traces, scratch
        self._virtual = virtual
        self._exchange = exchange
        self._before = growth(scratch)
        self._most_bytes = limits.KEPT_IN_GUEST_BYTES if virtual else limits.KEPT_BYTES
        self._next_s = 0.0

    def every_s(self) -> float:
        """Return the seconds after which to look again even if nothing happens."""
        return math.inf if self._virtual else _EVERY_S

    def look_if_due(self) -> None:
        """Look, in real time, if the last look was half a second ago or more."""
        if not self._virtual and time.monotonic() >= self._next_s:
            self.look()
            self._next_s = time.monotonic() + _EVERY_S

    def look(self) -> None:
        """Kill every program that has broken a limit by now."""
        processes = self._processes()
        self.count_tasks()  # first: what forks without end makes all else slow
        for process in _each(processes):
            process.check_stderr()
            process.check_compartment()
        for role, broken in self._traces.broken().items():
            _break_all(processes.get(role, []), broken)
        crowded_out = self._virtual and not processes.get("client")
        failed = crowded_out or any(process.exit is not None and process.exit.code != 0 for process in _each(processes))
        if failed and self._exchange is not None and _has_few_descriptors(self._exchange):
            for role in processes:
                _break_all(processes[role], limits.NO_DESCRIPTOR)
        if (grown := growth(self._scratch).since(self._before, self._most_bytes)) is not None:
            _break_all(processes.get("client", []), grown)

    def count_tasks(self) -> None:
        """Kill the programs that have too many processes and threads, or use too much memory, if no group counts."""
        if self._virtual:
            self._count_by_user()
            return
        counted = [process for process in _each(self._processes()) if _is_to_be_counted(process)]
        if not counted:
            return
        families = {process.compartment.namespace(): process for process in counted if process.compartment is not None}
        members: dict[int, list[int]] = {namespace: [] for namespace in families}
        for pid in _pids():
            with suppress(OSError):  # it ended meanwhile
                namespace = os.stat(f"/proc/{pid}/ns/pid").st_ino  # noqa: PTH116
                if namespace in members:
                    members[namespace].append(pid)
        for namespace, process in families.items():
            _judge(process, members[namespace])

    def _count_by_user(self) -> None:
        """Count what programs of a guest have started; each is another user there."""
        if _tasks_of_machine() < limits.MOST_TASKS:
            return
        members: dict[int, list[int]] = {}
        for pid in _pids():
            with suppress(OSError):  # it ended meanwhile
                members.setdefault(os.stat(f"/proc/{pid}").st_uid, []).append(pid)  # noqa: PTH116
        for process in _each(self._processes()):
            if process.user is not None and _tasks_of(members.get(process.user, []), limits.MOST_TASKS):
                process.breaks(limits.sentence(TASKS, ""))


def _has_few_descriptors(exchange: Path) -> bool:
    """Return whether a guest's kernel cannot open some more files of the host: a program that ends frees a few."""
    probes = [exchange / f"probe-{number}" for number in range(_PROBES)]
    with ExitStack() as undo:
        try:
            for probe in probes:
                undo.callback(probe.unlink, missing_ok=True)
                undo.enter_context(probe.open("wb"))
        except OSError as error:
            return error.errno == errno.EMFILE
    return False


def _each(processes: dict[str, list[Process]]) -> Iterator[Process]:
    return (process for group in processes.values() for process in group)


def _break_all(processes: Sequence[Process], limit: str) -> None:
    for process in processes:
        process.breaks(limit)


def _is_to_be_counted(process: Process) -> bool:
    compartment = process.compartment
    return compartment is not None and not (compartment.bounds(TASKS) and compartment.bounds(MEMORY))


def _judge(process: Process, pids: Sequence[int]) -> None:
    """Kill a program whose processes are too many, or use too much memory."""
    if _tasks_of(pids, limits.MOST_TASKS):
        process.breaks(limits.sentence(TASKS, process.home))
    elif len(pids) <= _MOST_WEIGHED and _memory_of(pids, limits.MEMORY_BYTES):
        process.breaks(limits.sentence(MEMORY, process.home))


def _tasks_of(pids: Sequence[int], most: int) -> bool:
    """Return whether processes have that many threads. They are not looked at one by one if they are that many."""
    return len(pids) >= most or sum(_number(pid, "status", "Threads") for pid in pids) >= most


def _memory_of(pids: Sequence[int], most: int) -> bool:
    """Return whether processes use more bytes than that, private and shared, without counting twice what they share."""
    own = ("RssAnon", "RssShmem")
    if sum(_number(pid, "status", name) for pid in pids for name in own) << 10 <= most:
        return False
    return sum(_number(pid, "smaps_rollup", name) for pid in pids for name in ("Pss_Anon", "Pss_Shmem")) << 10 > most


def _number(pid: int, file: str, name: str) -> int:
    """Return a number of a file of a process; 0 if it has ended, or has none of that name."""
    with suppress(OSError):
        for line in Path(f"/proc/{pid}/{file}").read_text().splitlines():
            if line.startswith(f"{name}:"):
                return int(line.split()[1])
    return 0


def _pids() -> list[int]:
    return [int(name) for name in os.listdir("/proc") if name.isdigit()]  # noqa: PTH208


def _tasks_of_machine() -> int:
    """Return how many processes and threads the kernel has: in a guest the trial's, and a few of the guest itself."""
    return int(Path("/proc/loadavg").read_text().split()[3].partition("/")[2])
