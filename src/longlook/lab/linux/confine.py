"""Starts programs without privilege, and without a helper between the laboratory and the program.

On a host a thread enters the program's compartment and gives its privileges up for ever (`ConfinedThread`), ahead of
the program's start if there is other work to do meanwhile. In a guest the laboratory becomes another user for as long
as it takes to start a program. There nothing else may happen. The start of a helper would take random numbers from the
kernel that the program gets now. A second thread of Python would read the clock, which moves a trial's time.
"""

import _thread
import ctypes
import os
import platform
import resource
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, field
from pathlib import Path
from queue import SimpleQueue

from longlook.core import MachineError
from longlook.lab.linux import compartment, seccomp, system
from longlook.lab.linux.compartment import Compartment
from longlook.lab.linux.guest_rooms import Rooms
from longlook.lab.linux.limit_groups import LimitGroup
from longlook.lab.linux.program_view import ProgramView, Room
from longlook.lab.linux.root_view import RootView
from longlook.lab.linux.users import SYSTEM_CALLS


class ConfinedThread:
    """A thread that runs `confine` at once, then one piece of work as soon as it is given, and ends.

    Users, capabilities, namespaces, control groups and filters of system calls belong to a thread in Linux, and a
    program that the thread starts inherits them. To confine a thread takes 15 ms and more. Most of it is waiting for
    a new process, and for the kernel, in which every CPU has a quiet moment before a thread changes its group.
    """

    def __init__(self, confine: Callable[[], None]) -> None:
        self._confine = confine
        self._work: SimpleQueue[Callable[[], int] | None] = SimpleQueue()
        self._results: SimpleQueue[int | BaseException] = SimpleQueue()
        self._confining = _thread.allocate_lock()
        self._confining.acquire()
        _thread.start_new_thread(self._run, ())

    def join(self) -> None:
        """Wait until it is confined, or has failed to be, which `run` then raises."""
        with self._confining:
            pass

    def run(self, work: Callable[[], int]) -> int:
        """Run the one piece of work in the thread; return its result, or raise its exception or that from `confine`."""
        result = self._finish(work)
        if isinstance(result, BaseException):
            raise result
        return result

    def close(self) -> None:
        """End the thread without work, once it is confined, or has failed to be."""
        self._finish(None)

    def _finish(self, work: Callable[[], int] | None) -> int | BaseException:
        self._work.put(work)
        return self._results.get()

    def _run(self) -> None:
        try:
            try:
                self._confine()
            finally:
                self._confining.release()
            work = self._work.get()
            self._results.put(0 if work is None else work())
        except BaseException as error:
            self._results.put(error)


@dataclass(frozen=True)
class Spawn:
    """The argument list of a process, and pairs of descriptors, ours and its own, that it has in addition.

    `enters` are files of control groups that it enters before its program begins.
    """

    argv: Sequence[str]
    descriptors: tuple[tuple[int, int], ...] = ()
    enters: tuple[int, ...] = ()


@dataclass(frozen=True)
class Started:
    """A process that was started: its pid, and what holds it with all that it starts, None in a guest.

    In a guest `room` has its temporary files, and everywhere what a program with a root of its own wrote.
    """

    pid: int
    compartment: Compartment | None
    room: Room | None = None


@dataclass(frozen=True)
class _Ahead:
    """A thread on its way into a compartment, which is in `made` once it exists, and into a group."""

    thread: ConfinedThread
    made: list[Compartment]
    group: LimitGroup | None

    def close(self) -> None:
        """Remove what the thread has made, once it has ended."""
        for each in self.made:
            each.close()
        if self.group is not None:
            self.group.close()


@dataclass(frozen=True)
class Confinement:
    """How one program under test runs. `user` is its own; None if this user namespace has no other than its root.

    `limits` maps resources, as numbers of `setrlimit`, to their limits. `view` is what it sees of the host's files, or
    None in a guest: there it sees the guest's files, with `rooms` of its own. `writable` is what it can write to
    elsewhere. On a host only, it may keep capabilities, and have what makes its control group, which may be None.
    """

    user: int | None
    limits: Mapping[int, int]
    capabilities: tuple[int, ...] = ()
    view: ProgramView | RootView | None = None
    rooms: Rooms | None = None
    writable: Sequence[Path] = field(default=())
    make_group: Callable[[], LimitGroup | None] = lambda: None
    _ahead: list[_Ahead] = field(default_factory=list)  # at most one

    def give(self, *paths: Path) -> None:
        """Make existing files and folders the program's own."""
        for path in paths:
            if self.user is not None:
                os.chown(path, self.user, self.user)

    def prepare(self, network: int) -> None:
        """Begin ahead of `start` what it would have to wait for, beside other work; in a guest nothing is ahead.

        `network` is a descriptor of the program's network namespace. Control groups that this process is in now are the
        program's, too. `start` raises what fails. `close` gives up what no program was started in.
        """
        if self.view is not None and not self._ahead:
            self._ahead.append(self._begin(self.view, network))

    def start(self, argv: Sequence[str], spawn: Callable[[Spawn], int], network: int) -> Started:
        """Call `spawn`, which makes a process of an argument list and returns its pid, in a confined thread.

        `spawn` also gets pairs of descriptors, ours and the program's, that the program has in addition. `network` is a
        descriptor of the process's network namespace. Raise what `spawn` raises, MachineError if it cannot be confined.
        """
        self.prepare(network)
        if self._ahead:
            return self._start_in_compartment(argv, spawn, self._ahead.pop())
        rooms = nullcontext() if self.rooms is None else self.rooms.entered()
        with _lowered(self.limits), system.inside(network), rooms, _other_user(self.user):
            pid = spawn(Spawn(argv))
        # Only now: a child goes on before the kernel has given its program the new user alone.
        return Started(self._limited(pid), None, None if self.rooms is None else self.rooms.room)

    def close(self) -> None:
        """Give up what was prepared for a program that was not started."""
        while self._ahead:
            ahead = self._ahead.pop()
            ahead.thread.close()
            ahead.close()
        if self.rooms is not None:
            self.rooms.close()

    def _begin(self, view: ProgramView | RootView, network: int) -> _Ahead:
        made: list[Compartment] = []
        group = self.make_group()

        def confine() -> None:
            try:
                system.set_namespace(network, system.CLONE_NEWNET)
                made.append(compartment.enter(view, self.writable, self.user, group))
                if group is not None:
                    group.enter()
                self._give_up_privileges()
                system.allow_no_new_privileges()
                seccomp.refuse_administration()
            except BlockingIOError:
                raise  # there are too many processes already
            except OSError as error:
                raise MachineError(
                    f"programs under test cannot be confined here: {error}", "longlook doctor"
                ) from error

        return _Ahead(ConfinedThread(confine), made, group)

    def _start_in_compartment(self, argv: Sequence[str], spawn: Callable[[Spawn], int], ahead: _Ahead) -> Started:
        has_root = isinstance(self.view, RootView)

        def work() -> int:
            return self._limited(spawn(_way(argv, ahead.group, has_shell=not has_root)))

        try:
            ahead.thread.join()
            with compartment.FORKING, _lowered(self.limits):
                pid = ahead.thread.run(work)
            (made,) = ahead.made
            return Started(pid, made, made.rooms[0].kept() if has_root else None)
        except BaseException:
            ahead.close()
            raise

    def _limited(self, pid: int) -> int:
        """Lower a program's hard limits."""
        for number, most in self.limits.items():
            soft, hard = resource.prlimit(pid, number)
            resource.prlimit(pid, number, (_within(most, soft), _within(most, hard)))
        return pid

    def _give_up_privileges(self) -> None:
        system.bound_capabilities(self.capabilities)
        system.keep_capabilities_of_next_user()
        if self.user is not None:
            _become(self.user)
        system.hold_only(self.capabilities)


def _way(argv: Sequence[str], group: LimitGroup | None, *, has_shell: bool) -> Spawn:
    """Return how a program gets into its group; it may see no shell that could do this for it."""
    if group is None:
        return Spawn(argv)
    return Spawn(*group.command(argv)) if has_shell else Spawn(argv, enters=group.to_be_entered())


def _become(user: int) -> None:
    groups, group, users = SYSTEM_CALLS[platform.machine()]
    number = ctypes.c_uint(user)
    system.call_by_number("setgroups", groups, ctypes.c_size_t(0), None)
    system.call_by_number("setresgid", group, number, number, number)
    system.call_by_number("setresuid", users, number, number, number)


@contextmanager
def _other_user(user: int | None) -> Iterator[None]:
    """Be another user in a block, able to come back; a program that is executed in it is not (its saved user is new).

    It has no capability either, as long as its file gives none: `allow_no_new_privileges` prevents that.
    """
    if user is None:
        yield
        return
    groups, niceness, scheduled = os.getgroups(), os.getpriority(os.PRIO_PROCESS, 0), os.sched_getscheduler(0)
    os.setgroups([])
    os.setresgid(user, user, 0)
    os.setresuid(user, user, 0)
    try:
        yield
    finally:
        os.setresuid(0, 0, 0)
        os.setresgid(0, 0, 0)
        os.setgroups(groups)
        if scheduled == os.SCHED_OTHER:  # a program that is quick may have lowered both: they had one user until now
            os.sched_setscheduler(0, scheduled, os.sched_param(0))
            os.setpriority(os.PRIO_PROCESS, 0, niceness)


@contextmanager
def _lowered(most: Mapping[int, int]) -> Iterator[None]:
    """Lower this process's soft limits for a block: a program that is started in it has them from its first moment."""
    before = {number: resource.getrlimit(number) for number in most}
    for number, (soft, hard) in before.items():
        resource.setrlimit(number, (_within(most[number], soft), hard))
    try:
        yield
    finally:
        for number, values in before.items():
            resource.setrlimit(number, values)


def _within(wanted: int, limit: int) -> int:
    return wanted if limit == resource.RLIM_INFINITY else min(wanted, limit)
