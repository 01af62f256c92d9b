"""Holds a program under test in real time with everything that it starts, so that all of it ends at once.

A compartment is a mount, an IPC and a PID namespace. Process 1 of the PID namespace is a shell that waits. If the shell
is killed, the kernel kills every other process of the namespace, in whatever session, and none of them can fork
meanwhile. The program itself is a child of the laboratory, and no process 1, which would be spared signals. Nothing of
other programs exists in it: no process to be signalled or traced, no shared memory, no queue, no file.
"""

import _thread
import os
import signal
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import NoReturn

from longlook.lab.linux import system
from longlook.lab.linux.limit_groups import LimitGroup
from longlook.lab.linux.program_view import ProgramView, Room
from longlook.lab.linux.root_view import RootView

_INIT = ("/bin/sh", "-c", "trap '' CHLD; read -r _")  # who ignores SIGCHLD needs not reap orphans


FORKING = _thread.allocate_lock()
"""Held while a compartment starts its first process, which limits that this process lowers meanwhile could refuse."""


@dataclass(frozen=True)
class Compartment:
    """A running compartment: `init` is its first process, and `alive` a pipe that ends it if the laboratory dies.

    `group` is the control group of its programs, which keeps `tasks` and `memory`; None if it has none.
    """

    init: int
    alive: int
    rooms: tuple[Room, ...]
    group: LimitGroup | None

    def broken(self) -> str | None:
        """Return which limit was broken so far: `tasks`, `memory` or the place of a room; None if none was."""
        found = None if self.group is None else self.group.broken()
        return found or next((room.place for room in self.rooms if room.is_full()), None)

    def alarm(self) -> int | None:
        """Return a descriptor with news (POLLPRI) when a limit of tasks is enforced; None if nothing tells."""
        return None if self.group is None else self.group.alarm()

    def bounds(self, what: str) -> bool:
        """Return whether the kernel bounds tasks, or memory, of all of it."""
        return self.group is not None and self.group.bounds(what)

    def namespace(self) -> int:
        """Return the inode of its PID namespace."""
        return Path(f"/proc/{self.init}/ns/pid").stat().st_ino

    def kill(self) -> None:
        """Kill everything in it."""
        with suppress(ProcessLookupError):
            os.kill(self.init, signal.SIGKILL)

    def kill_at_once(self) -> None:
        """Kill everything in it in one call, also if its first process gets no CPU to do that: it forks without end."""
        namespace = os.open(f"/proc/{self.init}/ns/pid", os.O_RDONLY | os.O_CLOEXEC)
        helper = os.fork()
        if helper == 0:
            _kill_all_of(namespace)
        os.close(namespace)
        with suppress(OSError):  # a laboratory that runs before programs lets its helper do so, too
            policy = os.sched_getscheduler(0) & ~os.SCHED_RESET_ON_FORK
            os.sched_setscheduler(helper, policy, os.sched_getparam(0))
        os.waitpid(helper, 0)
        self.kill()

    def close(self) -> None:
        """Kill everything in it and wait until it is gone. The program must have been reaped before."""
        self.kill()
        with suppress(ChildProcessError):
            os.waitpid(self.init, 0)
        os.close(self.alive)
        for room in self.rooms:
            room.close()
        if self.group is not None:
            self.group.close()


def enter(
    view: ProgramView | RootView, writable: Sequence[Path], user: int | None, group: LimitGroup | None
) -> Compartment:
    """Move this thread into a new compartment: the processes that it starts are in it. Raise OSError if refused."""
    inits: list[tuple[int, int]] = []

    def begin() -> None:
        system.unshare(system.CLONE_NEWIPC | system.CLONE_NEWPID)
        with FORKING:
            inits.append(start_init())

    try:
        rooms = view.enter(writable, user, begin)
    except BaseException:
        for init, alive in inits:
            os.close(alive)
            os.waitpid(init, 0)
        raise
    ((init, alive),) = inits
    return Compartment(init, alive, rooms, group)


def start_init() -> tuple[int, int]:
    """Start the first process of a new PID namespace, with a /proc of its own; return it and the pipe that ends it.

    Raise OSError if the kernel refuses it.
    """
    failed, fail = os.pipe2(os.O_CLOEXEC)
    alive, keep_alive = os.pipe2(os.O_CLOEXEC)
    init = os.fork()
    if init == 0:
        _be_init(fail, alive)
    os.close(fail)
    os.close(alive)
    with os.fdopen(failed, "rb") as pipe:
        reason = pipe.read()
    if reason:
        os.close(keep_alive)
        os.waitpid(init, 0)
        number, _, text = reason.decode().partition(" ")
        raise OSError(int(number), text)
    return init, keep_alive


def _kill_all_of(namespace: int) -> NoReturn:
    """Be a process of a PID namespace, and signal every other one of it but its first."""
    try:
        system.set_namespace(namespace, system.CLONE_NEWPID)
        killer = os.fork()
        if killer == 0:
            os.kill(-1, signal.SIGKILL)
        else:
            os.waitpid(killer, 0)
    finally:
        os._exit(0)


def _be_init(fail: int, alive: int) -> NoReturn:
    try:
        flags = system.MS_NOSUID | system.MS_NODEV | system.MS_NOEXEC
        system.mount("proc", "/proc", "proc", flags)
        os.chdir("/")
        nothing = os.open(os.devnull, os.O_RDWR)
        for source, target in ((alive, 0), (nothing, 1), (nothing, 2)):
            os.dup2(source, target)
        os.execve(_INIT[0], _INIT, {})  # noqa: S606 (it is one)
    except OSError as error:
        os.write(fail, f"{error.errno} the first process of a program: {error.strerror}".encode())
    finally:
        os._exit(1)
