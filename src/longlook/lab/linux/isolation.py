"""Runs work in new namespaces, under a supervisor outside them.

The supervisor (the process that was started) moves into new namespaces and forks; the child is process 1 of a PID
namespace. Whatever kills the child, the kernel then kills every program it started and frees the namespaces. Whatever
kills the supervisor kills the child (PR_SET_PDEATHSIG), and the supervisor kills the child when its starter goes away
(`control_pipe`). The starter is not watched by PR_SET_PDEATHSIG, because that is bound to a thread, which may end
before its process does.
"""

import os
import select
import signal
import traceback
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from types import FrameType
from typing import NoReturn

from longlook.core import MachineError
from longlook.lab.linux import system

_NEEDED = (system.CAP_SYS_ADMIN, system.CAP_NET_ADMIN, system.CAP_NET_RAW)
_ENDING = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)


def run_isolated(work: Callable[[], int], control_pipe: int | None, started: Callable[[int], None]) -> int:
    """Run `work` as pid 1 of new namespaces; return its exit code, or the negated number of the signal that ended it.

    `control_pipe` is a descriptor of a pipe: when its other end is closed, the work is killed. `started` is called with
    the child's pid. Raise MachineError if the kernel refuses the namespaces.
    """
    _enter_namespaces()
    alive_read, alive_write = os.pipe2(os.O_CLOEXEC)
    child = os.fork()
    if child == 0:
        os.close(alive_write)
        _run_as_init(work, alive_read)
    os.close(alive_read)
    try:
        started(child)
        return _supervise(child, control_pipe)
    finally:
        os.close(alive_write)


def has_full_privilege() -> bool:
    """Return whether namespaces can be made without a user namespace around them."""
    return all(system.has_capability(number) for number in _NEEDED)


def _enter_namespaces() -> None:
    if not has_full_privilege():
        enter_user_namespace(0, 0)
    try:
        system.unshare(system.CLONE_NEWNET | system.CLONE_NEWNS | system.CLONE_NEWPID | system.CLONE_NEWIPC)
        system.mount("none", "/", None, system.MS_REC | system.MS_PRIVATE)
    except OSError as error:
        raise MachineError(f"no namespaces here: {error}", "run as root, or outside the container") from error


def enter_user_namespace(inside_uid: int, inside_gid: int) -> None:
    """Move this process into a user namespace in which it has these ids and every capability.

    Raise MachineError if that is not allowed.
    """
    uid, gid = os.geteuid(), os.getegid()
    try:
        system.unshare(system.CLONE_NEWUSER)
        Path("/proc/self/setgroups").write_text("deny")
        Path("/proc/self/uid_map").write_text(f"{inside_uid} {uid} 1")
        Path("/proc/self/gid_map").write_text(f"{inside_gid} {gid} 1")
    except OSError as error:
        raise MachineError(
            f"user namespaces are not allowed here: {error}",
            "run as root, or: sysctl -w kernel.unprivileged_userns_clone=1 user.max_user_namespaces=10000 "
            "(Ubuntu: kernel.apparmor_restrict_unprivileged_userns=0)",
        ) from error


def _run_as_init(work: Callable[[], int], alive: int) -> NoReturn:
    code = 1
    try:
        for number in _ENDING:
            signal.signal(number, signal.SIG_IGN)  # the supervisor decides
        system.kill_when_parent_dies(signal.SIGKILL)
        orphaned = bool(select.select([alive], [], [], 0)[0])
        if orphaned:  # the supervisor died before the line that watches it; its pid is not visible here
            os._exit(1)
        code = work()
    except BaseException:
        traceback.print_exc()
    finally:
        os._exit(code)


def mount_own() -> None:
    """Mount a /proc of this PID namespace and a /dev/shm that ends with it; the work has to call this first.

    Raise MachineError if a container forbids it.
    """
    flags = system.MS_NOSUID | system.MS_NODEV | system.MS_NOEXEC
    try:
        system.mount("proc", "/proc", "proc", flags)
        if Path("/dev/shm").is_dir():  # noqa: S108
            system.mount("tmpfs", "/dev/shm", "tmpfs", system.MS_NOSUID | system.MS_NODEV)  # noqa: S108
    except OSError as error:
        raise MachineError(
            f"{error}", "a container may hide parts of /proc: run outside of it, or with unmasked system paths"
        ) from error


def _supervise(child: int, control_pipe: int | None) -> int:
    def end(_number: int, _frame: FrameType | None) -> None:
        with suppress(ProcessLookupError):
            os.kill(child, signal.SIGKILL)

    for number in _ENDING:
        signal.signal(number, end)
    pidfd = os.pidfd_open(child)
    try:
        poll = select.poll()
        poll.register(pidfd, select.POLLIN)
        if control_pipe is not None:
            poll.register(control_pipe, 0)  # poll always reports a closed pipe
        ended = False
        while not ended:
            for descriptor, _ in poll.poll():
                if descriptor == pidfd:
                    ended = True
                else:
                    poll.unregister(descriptor)
                    end(0, None)
    finally:
        os.close(pidfd)
    _, status = os.waitpid(child, 0)
    return os.waitstatus_to_exitcode(status)
