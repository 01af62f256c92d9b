"""Starts programs without privilege, and without a helper between the laboratory and the program.

On a host a thread gives its privileges up for ever, and what it starts inherits none: users, capabilities, mount
namespaces and filters of system calls belong to a thread in Linux. In a guest the laboratory becomes another user for
as long as it takes to start a program. There nothing else may happen: the start of a helper would take random numbers
from the kernel that the program gets now, and a second thread of Python reads the clock, which moves a trial's time.
"""

import _thread
import ctypes
import os
import platform
import resource
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from longlook.lab.linux import seccomp, system
from longlook.lab.linux.program_view import ProgramView

NOBODY = 65534
"""The user and the group of programs under test in a guest."""

FIRST_USER, USERS = 61184, 4336
"""The users of programs under test on a host: those that systemd gives to services for as long as they run."""

_SYSTEM_CALLS: Mapping[str, tuple[int, int, int]] = {"x86_64": (116, 119, 117), "aarch64": (159, 149, 147)}
"""setgroups, setresgid and setresuid by machine: the C library's own functions change every thread."""


@dataclass(frozen=True)
class Confinement:
    """How programs under test run. `user` is theirs; None where this user namespace has no other than its root.

    `limits` are those of `setrlimit` by number. `view` is what they see of the host's files, None in a guest, where
    they see the guest's; the other fields count on a host only: capabilities that they keep, and what they can write.
    """

    user: int | None
    limits: Mapping[int, int]
    capabilities: tuple[int, ...] = ()
    view: ProgramView | None = None
    writable: Sequence[Path] = field(default=())

    def give(self, *paths: Path) -> None:
        """Make existing files and folders the programs' own."""
        for path in paths:
            if self.user is not None:
                os.chown(path, self.user, self.user)

    def start(self, spawn: Callable[[], int], network: int) -> int:
        """Call `spawn`, which makes a process and returns its pid, in a confined thread; return the pid.

        `network` is a descriptor of the process's network namespace. Raise what `spawn` raises.
        """
        view = self.view
        with _lowered(self.limits):
            if view is not None:
                return _in_thread(lambda: self._give_up_and(spawn, view, network))
            with system.inside(network), _other_user(self.user):
                pid = spawn()
            # Only now: a child goes on before the kernel has given its program the new user alone.
            return self._limited(pid)

    def _give_up_and(self, spawn: Callable[[], int], view: ProgramView, network: int) -> int:
        view.enter(self.writable)
        system.set_namespace(network, system.CLONE_NEWNET)
        self._give_up_privileges()
        system.allow_no_new_privileges()
        seccomp.refuse_administration()
        return self._limited(spawn())

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


def other_user(*, virtual: bool) -> int | None:
    """Return the user, and group, that programs of this laboratory run as; None where this user namespace has none.

    A guest has one laboratory. On a host every laboratory has a user of its own, because the kernel counts processes by
    user: programs of one that start too many must not keep another from starting any.
    """
    if os.geteuid() != 0 or platform.machine() not in _SYSTEM_CALLS:
        return None
    user = NOBODY if virtual else _user_of_this_laboratory()
    mapped = all(_is_mapped(name, user) for name in ("uid_map", "gid_map"))
    return user if mapped and Path("/proc/self/setgroups").read_text().strip() == "allow" else None


def _user_of_this_laboratory() -> int:
    """Return a number that follows from this PID namespace's: the kernel counts those that exist, from 0xf0000000."""
    return FIRST_USER + Path("/proc/self/ns/pid").stat().st_ino % USERS


def _is_mapped(name: str, number: int) -> bool:
    ranges = [list(map(int, line.split())) for line in Path(f"/proc/self/{name}").read_text().splitlines()]
    return any(first <= number < first + count for first, _, count in ranges)


def _become(user: int) -> None:
    groups, group, users = _SYSTEM_CALLS[platform.machine()]
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
    groups = os.getgroups()
    os.setgroups([])
    os.setresgid(user, user, 0)
    os.setresuid(user, user, 0)
    try:
        yield
    finally:
        os.setresuid(0, 0, 0)
        os.setresgid(0, 0, 0)
        os.setgroups(groups)


@contextmanager
def _lowered(most: Mapping[int, int]) -> Iterator[None]:
    """Lower this process's soft limits for a block: what is started in it has them from its first moment."""
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


def _in_thread(work: Callable[[], int]) -> int:
    """Run `work` in a thread that ends with it; return its result or raise its exception."""
    results: list[int] = []
    failures: list[BaseException] = []
    done = _thread.allocate_lock()
    done.acquire()

    def run() -> None:
        try:
            results.append(work())
        except BaseException as error:
            failures.append(error)
        finally:
            done.release()

    _thread.start_new_thread(run, ())
    done.acquire()
    if failures:
        raise failures[0]
    return results[0]
