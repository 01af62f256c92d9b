"""Watches that the programs of a trial keep their limits while they run, and kills those that do not.

In real time it looks twice a second. A guest has less to fear: a look that is due at some time would move the clock of
the trial, so there it looks only when a program ends and when the trial is over. Meanwhile the kernel's own limits
hold, and what a program wrote or printed is counted in any case (`process`, `kept`).
"""

import math
import os
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path

from longlook.lab import kept, limits
from longlook.lab.process import Process
from longlook.lab.topology import Side

_EVERY_S = 0.5
_PAGE_BYTES = os.sysconf("SC_PAGE_SIZE")
_PARENT, _THREADS = 1, 17  # fields of /proc/PID/stat behind the name
_RESIDENT, _SHARED = 1, 2  # of /proc/PID/statm


class Watcher:
    """Looks at the programs of one trial. `processes` returns those that were started so far, by role.

    `sides` are the client's and the server's: a process is recognised by its network namespace, which it cannot leave.
    """

    def __init__(
        self,
        processes: Callable[[], dict[str, list[Process]]],
        sides: Sequence[Side],
        folder: Path,
        scratch: Path,
        *,
        flows: int,
        virtual: bool,
    ) -> None:
        self._processes, self._folder, self._scratch = processes, folder, scratch
        self._roles = {os.fstat(side.namespace.descriptor).st_ino: side.end.role for side in sides}
        self._tasks = limits.tasks_of(flows)
        self._virtual = virtual
        self._occupied_before = 0 if virtual else kept.occupied(scratch)
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
        for process in (process for group in processes.values() for process in group):
            process.check_stderr()
        for role, found in kept.measure(self._folder).items():
            if (broken := found.broken()) is not None:
                _break_all(processes.get(role, []), broken)
        if not self._virtual and kept.occupied(self._scratch) - self._occupied_before >= limits.KEPT_BYTES:
            most = limits.mebibytes(limits.KEPT_BYTES)
            everyone = [process for group in processes.values() for process in group]
            _break_all(everyone, f"or its peer wrote {most} of temporary files or more")
        self.count_tasks()

    def count_tasks(self) -> None:
        """Kill the programs that have too many processes and threads, or use too much memory."""
        if self._virtual and _tasks_of_machine() < self._tasks:
            return
        tasks: Counter[str] = Counter()
        memory: Counter[int] = Counter()
        families: defaultdict[int, list[int]] = defaultdict(list)
        processes = self._processes()
        owners = {process.pid: process for group in processes.values() for process in group}
        table = _table(self._roles)
        for pid, (role, _, threads, own_bytes) in table.items():
            tasks[role] += threads
            owner: int | None = _owner(pid, table, owners)
            if owner is None:
                owner = next((process.pid for process in processes.get(role, ())), None)
            if owner is not None:
                memory[owner] += own_bytes
                families[owner].append(pid)
        if tasks.total() >= self._tasks:
            (role, _), *_ = tasks.most_common()
            _break_all(processes.get(role, []), f"started processes and threads up to the limit of {self._tasks}")
            return
        for owner, own_bytes in memory.items():
            if own_bytes > limits.MEMORY_BYTES and _memory_of(families[owner]) > limits.MEMORY_BYTES:
                owners[owner].breaks(f"used more than {limits.mebibytes(limits.MEMORY_BYTES)} of memory")


def _break_all(processes: Sequence[Process], limit: str) -> None:
    for process in processes:
        process.breaks(limit)


def _tasks_of_machine() -> int:
    """Return how many processes and threads the kernel has: in a guest those of the trial and a few of its own."""
    return int(Path("/proc/loadavg").read_text().split()[3].partition("/")[2])


_Task = tuple[str, int, int, int]  # role, parent, threads, bytes of its own memory


def _table(roles: dict[int, str]) -> dict[int, _Task]:
    """Return the processes in the endpoints' network namespaces, by pid."""
    table = {}
    for name in os.listdir("/proc"):  # noqa: PTH208
        if not name.isdigit():
            continue
        with suppress(OSError):  # it ended meanwhile
            role = roles.get(os.stat(f"/proc/{name}/ns/net").st_ino)  # noqa: PTH116
            if role is not None:
                fields = Path(f"/proc/{name}/stat").read_text().rpartition(")")[2].split()
                pages = Path(f"/proc/{name}/statm").read_text().split()
                own_bytes = (int(pages[_RESIDENT]) - int(pages[_SHARED])) * _PAGE_BYTES
                table[int(name)] = (role, int(fields[_PARENT]), int(fields[_THREADS]), own_bytes)
    return table


def _memory_of(pids: Sequence[int]) -> int:
    """Return the memory of processes in bytes, without counting twice what they share; slow, so only where in doubt."""
    total = 0
    for pid in pids:
        with suppress(OSError, StopIteration):  # it ended meanwhile
            lines = Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()
            total += int(next(line.split()[1] for line in lines if line.startswith("Pss:"))) << 10
    return total


def _owner(pid: int, table: dict[int, _Task], owners: dict[int, Process]) -> int | None:
    """Return the program that a process descends from; None for one that has left its family."""
    while pid not in owners:
        if pid not in table:
            return None
        pid = table[pid][1]
    return pid
