"""Control groups that bound what a program under test takes, with all that it starts: processes and threads, memory.

The kernel counts every kind of memory: private and shared, of files in memory, of segments and queues of System V and
POSIX, of sockets. Both versions of the interface are used; a machine may have one of the two controllers, or none. Like
the groups of `cpuquota`, they are not contained in a laboratory's namespaces, and have its marker in their names.
"""

import errno
import os
import platform
import shutil
import threading
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

ROOT = Path("/sys/fs/cgroup")
TASKS, MEMORY = "tasks", "memory"
"""The limits of a group, by the names that `LimitGroup.broken` returns."""

_CONTROLLERS = {TASKS: "pids", MEMORY: "memory"}
_ENTERS = 9  # the descriptor of `cgroup.procs` in a program's shell
_SHELL = ("/bin/sh", "-c", f'echo 0 >&{_ENTERS} || exit 126; exec {_ENTERS}>&- "$@"', "sh")
_OPENERS_CREDENTIALS = (5, 17)  # the first Linux that looks at who opened `cgroup.procs`, not at who writes
_GONE_WITHIN_S = 1.0


@dataclass(frozen=True)
class Controllers:
    """The folders in which groups can be made, by what they bound, and the version (1 or 2) of their interface.

    Version 1 has a folder for each limit; version 2 has one folder for both.
    """

    folders: Mapping[str, Path]
    version: int

    def make(self, name: str, tasks: int, memory_bytes: int) -> "LimitGroup | None":
        """Make a group; None if there is no controller, or the kernel refuses."""
        group = LimitGroup({what: folder / name for what, folder in self.folders.items()}, self.version)
        try:
            for folder in set(group.folders.values()):
                folder.mkdir()
            group.limit(tasks, memory_bytes)
            group.open()
        except OSError:
            group.close()
            return None
        return group if group.folders else None


@dataclass(frozen=True)
class LimitGroup:
    """A group for one program. A thread or a program enters it; `close` it once all of them have ended."""

    folders: Mapping[str, Path]
    version: int
    alarms: list[int] = field(default_factory=list)  # a descriptor of `pids.events`, once it is open
    entries: list[int] = field(default_factory=list)  # those through which one enters, once they are open

    def limit(self, tasks: int, memory_bytes: int) -> None:
        """Set its limits."""
        if (folder := self.folders.get(TASKS)) is not None:
            (folder / "pids.max").write_text(str(tasks))
        if (folder := self.folders.get(MEMORY)) is None:
            return
        if self.version == 2:
            (folder / "memory.max").write_text(str(memory_bytes))
            _write_if_there(folder / "memory.swap.max", "0")
            _write_if_there(folder / "memory.oom.group", "1")
        else:
            (folder / "memory.limit_in_bytes").write_text(str(memory_bytes))
            _write_if_there(folder / "memory.memsw.limit_in_bytes", str(memory_bytes))

    def alarm(self) -> int | None:
        """Return a descriptor with news (POLLPRI) once a process or thread was refused; None if nothing tells."""
        if not self.alarms and (folder := self.folders.get(TASKS)) is not None:
            with suppress(OSError):
                self.alarms.append(os.open(folder / "pids.events", os.O_RDONLY | os.O_CLOEXEC))
                os.read(self.alarms[0], 256)  # what was before is no news
        return self.alarms[0] if self.alarms else None

    def bounds(self, what: str) -> bool:
        """Return whether it bounds tasks, or memory."""
        return what in self.folders

    def open(self) -> None:
        """Open the files through which one enters, as long as they can be written."""
        name = "tasks" if self.version == 1 else "cgroup.procs"
        for folder in set(self.folders.values()):
            self.entries.append(os.open(folder / name, os.O_WRONLY | os.O_CLOEXEC))

    def enter(self) -> None:
        """Move this thread into it, if that is possible: in version 2 only whole processes can move."""
        if self.version == 1:
            for entry in self.entries:
                os.write(entry, str(threading.get_native_id()).encode())

    def command(self, argv: Sequence[str]) -> tuple[Sequence[str], tuple[tuple[int, int], ...]]:
        """Return how a program is started that enters by itself, and pairs of descriptors: ours, and the program's.

        Raise FileNotFoundError if there is no such program.
        """
        if self.version == 1:
            return argv, ()
        if shutil.which(argv[0]) is None:  # the shell that starts it could not say so
            raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), argv[0])
        return (*_SHELL, *argv), tuple((entry, _ENTERS) for entry in self.entries)

    def to_be_entered(self) -> tuple[int, ...]:
        """Return descriptors to which a process writes "0" to enter it; none if its thread has entered it."""
        return () if self.version == 1 else tuple(self.entries)

    def broken(self) -> str | None:
        """Return which limit the kernel has enforced so far: TASKS or MEMORY; None for neither."""
        with suppress(OSError):
            if (folder := self.folders.get(TASKS)) is not None and _counted(folder / "pids.events", "max"):
                return TASKS
        events = "memory.events" if self.version == 2 else "memory.oom_control"
        with suppress(OSError):
            if (folder := self.folders.get(MEMORY)) is not None and _counted(folder / events, "oom_kill"):
                return MEMORY
        return None

    def close(self) -> None:
        """Remove it. One with members that still run stays until `clear`."""
        for descriptors in (self.alarms, self.entries):
            while descriptors:
                os.close(descriptors.pop())
        deadline = time.monotonic() + _GONE_WITHIN_S
        for folder in set(self.folders.values()):
            while folder.exists():
                try:
                    folder.rmdir()
                except OSError:
                    if time.monotonic() > deadline:
                        break
                    time.sleep(0.002)  # a thread that was in it has not quite ended


def controllers(root: Path = ROOT, own: str | None = None, release: str | None = None) -> Controllers:
    """Return the controllers of this machine that this process may use; an empty collection if there are none.

    Groups are made below this process's own, so that limits of a container or a session hold for them; in version 2 in
    the nearest group around this process that hands both controllers on. `own` and `release` are for tests: the text
    of /proc/self/cgroup, and the version of the kernel.
    """
    places = own_places(Path("/proc/self/cgroup").read_text() if own is None else own)
    first = {}
    for what, name in _CONTROLLERS.items():
        top = root / name
        folder = top / places.get(name, "").lstrip("/")
        folder = folder if folder.is_dir() else top
        if (folder / "tasks").exists() and os.access(folder, os.W_OK):
            first[what] = folder
    if first:
        return Controllers(first, 1)
    numbers = (platform.release() if release is None else release).split(".")[:2]
    if tuple(int("".join(filter(str.isdigit, number)) or 0) for number in numbers) < _OPENERS_CREDENTIALS:
        return Controllers({}, 2)
    for top in (root, root / "unified"):
        folder = top / places.get("", "").lstrip("/")
        for place in (folder, *folder.parents):
            if place.is_relative_to(top) and (bounded := _handed_on(place)):
                return Controllers(dict.fromkeys(bounded, place), 2)
    return Controllers({}, 2)


@cache
def own_controllers() -> Controllers:
    """Return the controllers of this machine. A supervisor, whose /proc is its agent's, must have asked before."""
    return controllers()


def clear(marker: str) -> None:
    """Remove the groups of the laboratory with this marker, once its programs have ended."""
    for folder in set(own_controllers().folders.values()):
        for group in folder.glob(f"{prefix(marker)}*"):
            with suppress(OSError):
                group.rmdir()


def prefix(marker: str) -> str:
    """Return how the names of a laboratory's groups begin."""
    return f"longlook-{marker}-limits-"


def _handed_on(folder: Path) -> tuple[str, ...]:
    """Return the limits that groups in a folder of version 2 can have; nothing if this process may
    make no group there.
    """
    enabled = folder / "cgroup.subtree_control"
    if not enabled.exists() or not all(os.access(place, os.W_OK) for place in (folder, folder / "cgroup.procs")):
        return ()
    names = enabled.read_text().split()
    return tuple(what for what, name in _CONTROLLERS.items() if name in names)


def own_places(text: str) -> dict[str, str]:
    """Return this process's group by controller; the key of the group of version 2 is ""."""
    lines = [line.split(":", maxsplit=2) for line in text.splitlines()]
    return {name: place for _, names, place in lines for name in names.split(",")}


def _counted(path: Path, name: str) -> int:
    """Return one of the numbers of a file of a group; 0 if it is not in it."""
    return int(dict(line.split() for line in path.read_text().splitlines()).get(name, 0))


def _write_if_there(path: Path, value: str) -> None:
    with suppress(OSError):  # a kernel without swap, or without that setting
        if path.exists():
            path.write_text(value)
