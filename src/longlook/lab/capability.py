"""The laboratory's requirements of this machine: each is tried out, and has the command that meets it."""

import os
import signal
import socket
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from longlook.core import LonglookError, MachineError
from longlook.lab import cpu_profiler
from longlook.lab.addresses import IPV6
from longlook.lab.linux import cpufreq, isolation, limit_groups, system
from longlook.lab.linux.compartment import start_init
from longlook.lab.linux.namespace import Namespace
from longlook.lab.linux.seccomp import filters_here, refuse_administration
from longlook.lab.linux.users import FIRST_USER, USERS, can_be_others
from longlook.lab.topology import CLIENT, OFFLOAD, PACKET, TUN, EndpointNamespace, client_of, datapath

_ROUTER_PRIORITY = 50
_UDP_BUFFER_BYTES = 2 << 20
_LONGEST_ATTEMPT_S = 10
_USER_NAMESPACES = "sysctl -w user.max_user_namespaces=10000 kernel.unprivileged_userns_clone=1, or run as root"


@dataclass(frozen=True)
class Capability:
    """A requirement, whether it is met, what was found, and the command that meets it (None if nothing is to do)."""

    need: str
    met: bool
    detail: str
    hint: str | None
    required: bool = True


def check() -> list[Capability]:
    """Return every requirement of the laboratory. The machine is not changed: all is tried in a child's namespaces."""
    path = datapath()
    refused = _failure_of(isolation.mount_own)
    privilege = "as root" if isolation.has_full_privilege() else "in a user namespace"
    hint = None if refused is None else _USER_NAMESPACES
    found = [Capability("namespaces", refused is None, refused or privilege, hint)]
    if refused is None:
        packet = _failure_of(_use_packet)
        tun, offload = _failure_of(partial(_use_tun, TUN)), _failure_of(partial(_use_tun, OFFLOAD))
        found += [
            Capability(
                "veth and AF_PACKET",
                packet is None,
                packet or "yes",
                None if packet is None else "use a kernel with veth and AF_PACKET, or: export LONGLOOK_DATAPATH=tun",
                required=path == PACKET,
            ),
            Capability("TUN", tun is None, tun or "yes", None if tun is None else "modprobe tun", required=path == TUN),
            Capability(
                "TUN with segmentation offload",
                offload is None,
                offload or "yes",
                None if offload is None else "modprobe tun; Linux 6.2 or newer",
                required=path == OFFLOAD,
            ),
        ]
        found += _layers()
    return [*found, *_congestion_controls(), *_optional()]


def has_realtime_priority() -> bool:
    """Return whether the router may have real-time priority here; without it, busy machines make packets late."""
    return _failure_of(_use_fifo, isolated=False) is None


def _layers() -> Iterator[Capability]:
    """Yield what confines programs under test in real time (docs/explanation/lab.md)."""
    users = can_be_others()
    yield Capability(
        "a user for each program",
        users,
        f"of {FIRST_USER} to {FIRST_USER + USERS - 1}" if users else "no: only their namespaces keep programs apart",
        None if users else "run as root",
        required=False,
    )
    alone = _failure_of(_use_own_processes)
    yield Capability(
        "namespaces for each program",
        alone is None,
        alone or "processes, shared memory and files of its own",
        None if alone is None else "sysctl -w user.max_pid_namespaces=10000 user.max_ipc_namespaces=10000",
    )
    unfiltered = _failure_of(_use_filter)
    known = filters_here()
    yield Capability(
        "filter of system calls",
        unfiltered is None and known,
        unfiltered or ("yes" if known else "no table for this machine: namespaces and lost privileges do without it"),
        None if unfiltered is None and known else "use a kernel with CONFIG_SECCOMP_FILTER, on x86-64 or arm64",
        required=known,
    )
    bounded = limit_groups.own_controllers()
    missing = [what for what in (limit_groups.TASKS, limit_groups.MEMORY) if what not in bounded.folders]
    yield Capability(
        "control groups for programs",
        not missing,
        f"no limit of {' and '.join(missing)} by the kernel: Longlook counts twice a second"
        if missing
        else f"tasks and memory (version {bounded.version})",
        "run as root where cgroups can be written, or let systemd hand pids and memory on to your user"
        if missing
        else None,
        required=False,
    )


def _congestion_controls() -> Iterator[Capability]:
    available = (_setting("net.ipv4.tcp_available_congestion_control") or "").split()
    for name, required in (("cubic", True), ("bbr", False), ("reno", False)):
        met = name in available
        hint = None if met else f"modprobe tcp_{name}"
        yield Capability(f"congestion control {name}", met, "yes" if met else "not in this kernel", hint, required)


def _optional() -> Iterator[Capability]:
    fifo = _failure_of(_use_fifo, isolated=False)
    yield Capability(
        "real-time priority for the router",
        fifo is None,
        "SCHED_FIFO"
        if fifo is None
        else f"{fifo}: on a busy machine packets leave milliseconds late, and trials are invalid",
        None
        if fifo is None
        else "run as root, or: echo '* - rtprio 50' > /etc/security/limits.d/longlook.conf (then log in again)",
        required=False,
    )
    without = _failure_of(_use_ipv6)
    yield Capability(
        "IPv6",
        without is None,
        without or "for trials in real time; those in virtual time always have it",
        None if without is None else 'boot without ipv6.disable=1; network.ip = "6" needs --engine virtual until then',
        required=False,
    )
    refused = cpu_profiler.failure()
    yield Capability(
        "profiles of CPU time",
        refused is None,
        refused or "perf samples every CPU",
        None
        if refused is None
        else "sudo apt-get install linux-perf, and run as root (or: sysctl -w kernel.perf_event_paranoid=-1)",
        required=False,
    )
    governors = cpufreq.governors()
    steady = governors <= {cpufreq.STEADY}
    yield Capability(
        "steady CPU frequency",
        steady,
        f"governor: {', '.join(sorted(governors)) or 'none; this kernel does not choose it'}",
        None if steady else "cpupower frequency-set -g performance (CPU seconds, and shares of a CPU, are compared)",
        required=False,
    )
    limit = _setting("net.core.rmem_max")
    enough = limit is not None and int(limit) >= _UDP_BUFFER_BYTES
    yield Capability(
        "UDP receive buffers",
        enough,
        "this network namespace does not show net.core.rmem_max"  # before Linux 6.9 only the host's does
        if limit is None
        else f"net.core.rmem_max = {limit.strip()}; namespaces cannot raise it",
        None if enough else "sysctl -w net.core.rmem_max=16777216 net.core.wmem_max=16777216",
        required=False,
    )


def _setting(name: str) -> str | None:
    """Return a setting of the kernel, or None if this namespace, or a kernel of another make, does not show it."""
    try:
        return Path("/proc/sys", *name.split(".")).read_text()
    except OSError:
        return None


def _use_packet() -> None:
    with Namespace() as router, EndpointNamespace(CLIENT, router, PACKET), router.inside():
        socket.socket(socket.AF_PACKET, socket.SOCK_RAW, 0).close()


def _use_tun(path: str) -> None:
    with Namespace() as router, EndpointNamespace(CLIENT, router, path):
        pass


def _use_ipv6() -> None:
    with Namespace() as router, EndpointNamespace(client_of(IPV6), router, PACKET):
        pass


def _use_own_processes() -> None:
    system.unshare(system.CLONE_NEWNS | system.CLONE_NEWIPC | system.CLONE_NEWPID)
    start_init()


def _use_filter() -> None:
    system.allow_no_new_privileges()
    refuse_administration()


def _use_fifo() -> None:
    os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(_ROUTER_PRIORITY))


def _failure_of(attempt: Callable[[], None], *, isolated: bool = True) -> str | None:
    """Return why an attempt fails in a child process, or None if it works."""
    read, write = os.pipe2(os.O_CLOEXEC)
    child = os.fork()
    if child == 0:
        os.close(read)
        _try_and_report(attempt, write, isolated=isolated)
    os.close(write)
    with os.fdopen(read) as pipe:
        reason = pipe.read()
    _, status = os.waitpid(child, 0)
    return reason or (f"it does not end within {_LONGEST_ATTEMPT_S} s" if status else None)


def _try_and_report(attempt: Callable[[], None], write: int, *, isolated: bool) -> None:
    code = 1
    try:
        signal.alarm(_LONGEST_ATTEMPT_S)
        code = (
            isolation.run_isolated(lambda: _report(attempt, write), None, lambda _pid: None)
            if isolated
            else _report(attempt, write)
        )
    except LonglookError as error:
        os.write(write, error.message.encode())
    finally:
        os._exit(code)


def _report(attempt: Callable[[], None], write: int) -> int:
    try:
        attempt()
    except (LonglookError, OSError) as error:
        os.write(write, str(error).encode() or b"it fails")
        return MachineError.exit_code
    return 0
