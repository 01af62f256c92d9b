"""The few system calls that the standard library lacks, as functions that raise OSError if a call fails."""

import ctypes
import fcntl
import os
import struct
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

CLONE_NEWNS = 0x00020000
CLONE_NEWIPC = 0x08000000
CLONE_NEWUSER = 0x10000000
CLONE_NEWPID = 0x20000000
CLONE_NEWNET = 0x40000000

MS_RDONLY, MS_NOSUID, MS_NODEV, MS_NOEXEC, MS_REMOUNT = 0x1, 0x2, 0x4, 0x8, 0x20
MS_BIND, MS_MOVE, MS_REC, MS_PRIVATE, MS_SLAVE = 0x1000, 0x2000, 0x4000, 0x40000, 0x80000

CAP_NET_BIND_SERVICE, CAP_NET_ADMIN, CAP_NET_RAW, CAP_SYS_ADMIN, CAP_SYS_NICE = 10, 12, 13, 21, 23

_PR_SET_PDEATHSIG, _PR_SET_KEEPCAPS, _PR_SET_SECCOMP, _PR_CAPBSET_DROP, _PR_SET_NO_NEW_PRIVS = 1, 8, 22, 24, 38
_PR_CAP_AMBIENT, _PR_CAP_AMBIENT_RAISE = 47, 2
_SECCOMP_MODE_FILTER = 2
_SYS_MOUNT_SETATTR, _AT_RECURSIVE, _MOUNT_ATTR_RDONLY, _MOUNT_ATTR_NOSUID = 442, 0x8000, 0x1, 0x2
_LAST_CAPABILITY = Path("/proc/sys/kernel/cap_last_cap")
_CAPABILITY_VERSION_3 = 0x20080522
_NS_GET_USERNS = 0xB701
_MNT_DETACH = 2
_RNDCLEARPOOL = 0x5206
_RB_POWER_OFF = 0x4321FEDC
_LIBC = ctypes.CDLL(None, use_errno=True)


def _call(what: str, result: int) -> None:
    if result != 0:
        number = ctypes.get_errno()
        raise OSError(number, f"{what}: {os.strerror(number)}")


def unshare(flags: int) -> None:
    """unshare(2): move this process into new namespaces (a new PID namespace holds its next children)."""
    _call("unshare", _LIBC.unshare(ctypes.c_int(flags)))


def set_namespace(descriptor: int, kind: int) -> None:
    """setns(2): move this thread into the namespace of that kind behind a descriptor."""
    _call("setns", _LIBC.setns(ctypes.c_int(descriptor), ctypes.c_int(kind)))


def mount(source: str, target: str, kind: str | None, flags: int, options: str | None = None) -> None:
    """mount(2): mount `source` at `target`; `kind` is the file system's type, None for a bind or a change of flags."""
    encoded = [None if part is None else part.encode() for part in (source, target, kind, options)]
    _call(f"mount {target}", _LIBC.mount(*encoded[:3], ctypes.c_ulong(flags), encoded[3]))


def unmount(target: str) -> None:
    """umount2(2), lazily: a process that has a file open there keeps it."""
    _call(f"unmount {target}", _LIBC.umount2(target.encode(), ctypes.c_int(_MNT_DETACH)))


def change_root(new: str) -> None:
    """pivot_root(2): make a mount the root of this mount namespace, in which the old root is then nowhere."""
    os.chdir(new)
    _call("pivot_root", _LIBC.pivot_root(b".", b"."))
    unmount(".")  # the old root, which lies over the new one
    os.chdir("/")


def restart_random() -> None:
    """RNDCLEARPOOL: in the guest kernel this reseeds random numbers from its seed (kernel/time-travel.patch)."""
    with Path("/dev/urandom").open("rb") as device:
        fcntl.ioctl(device, _RNDCLEARPOOL)


def power_off() -> None:
    """reboot(2): switch off the machine that this process is pid 1 of."""
    _call("reboot", _LIBC.reboot(ctypes.c_int(_RB_POWER_OFF)))


def kill_when_parent_dies(signal_number: int) -> None:
    """PR_SET_PDEATHSIG: get a signal when the parent ends.

    It is bound to the parent's thread and cleared by any gain of privileges, so call this last.
    """
    _call("prctl", _LIBC.prctl(_PR_SET_PDEATHSIG, ctypes.c_ulong(signal_number), 0, 0, 0))


def has_capability(number: int) -> bool:
    """Return whether this process holds a capability now, in its own user namespace."""
    lines = Path("/proc/self/status").read_text().splitlines()
    effective = next(line for line in lines if line.startswith("CapEff:"))
    return bool(int(effective.split()[1], 16) >> number & 1)


def pass_capabilities_on(numbers: tuple[int, ...]) -> None:
    """Make programs started from here keep these capabilities, whatever their user (capabilities(7), ambient set)."""
    header = struct.pack("=Ii", _CAPABILITY_VERSION_3, 0)
    held = ctypes.create_string_buffer(24)
    _call("capget", _LIBC.capget(header, held))
    effective, permitted, inheritable, *high = struct.unpack("=6I", held.raw)
    inheritable |= sum(1 << number for number in numbers)
    _call("capset", _LIBC.capset(header, struct.pack("=6I", effective, permitted, inheritable, *high)))
    for number in numbers:
        _call("prctl", _LIBC.prctl(_PR_CAP_AMBIENT, _PR_CAP_AMBIENT_RAISE, ctypes.c_ulong(number), 0, 0))


def bound_capabilities(kept: tuple[int, ...]) -> None:
    """Take every capability but the kept ones out of this thread's bounding set: what it starts never gets them."""
    for number in range(int(_LAST_CAPABILITY.read_text()) + 1):
        if number not in kept:
            _prctl(_PR_CAPBSET_DROP, number)


def keep_capabilities_of_next_user() -> None:
    """PR_SET_KEEPCAPS: this thread keeps its permitted capabilities when it changes its user, until `hold_only`."""
    _prctl(_PR_SET_KEEPCAPS, 1)


def hold_only(numbers: tuple[int, ...]) -> None:
    """Give up every capability of this thread but these, which programs that it starts have too."""
    held = sum(1 << number for number in numbers)
    header = struct.pack("=Ii", _CAPABILITY_VERSION_3, 0)
    _call("capset", _LIBC.capset(header, struct.pack("=6I", held, held, held, 0, 0, 0)))
    for number in numbers:
        _prctl(_PR_CAP_AMBIENT, _PR_CAP_AMBIENT_RAISE, number)


def allow_no_new_privileges() -> None:
    """PR_SET_NO_NEW_PRIVS: no program that this thread starts gains anything by set-user-id files."""
    _prctl(_PR_SET_NO_NEW_PRIVS, 1)


def filter_system_calls(program: bytes) -> None:
    """PR_SET_SECCOMP: filter the system calls of this thread, and of all that it starts, by a `struct sock_fprog`."""
    _call("prctl", _LIBC.prctl(_PR_SET_SECCOMP, ctypes.c_ulong(_SECCOMP_MODE_FILTER), program, 0, 0))


def set_read_only(place: str, *, recursive: bool) -> None:
    """mount_setattr(2): make a mount, or all below it too, read-only and without set-user-id files."""
    _set_mount(place, _MOUNT_ATTR_RDONLY | _MOUNT_ATTR_NOSUID, 0, _AT_RECURSIVE if recursive else 0)


def set_writable(place: str) -> None:
    """mount_setattr(2): let files of one mount be written again."""
    _set_mount(place, 0, _MOUNT_ATTR_RDONLY, 0)


def _set_mount(place: str, add: int, remove: int, flags: int) -> None:
    attributes = struct.pack("=4Q", add, remove, 0, 0)
    arguments = (ctypes.c_int(-1), place.encode(), ctypes.c_uint(flags), attributes, ctypes.c_size_t(len(attributes)))
    call_by_number(f"mount_setattr {place}", _SYS_MOUNT_SETATTR, *arguments)


def call_by_number(what: str, number: int, *arguments: Any) -> None:
    """syscall(2): make a system call that the C library has no function for, or has one that does more."""
    _call(what, _LIBC.syscall(ctypes.c_long(number), *arguments))


def _prctl(option: int, *values: int) -> None:
    padded = (*values, 0, 0, 0)[:4]
    _call("prctl", _LIBC.prctl(option, *(ctypes.c_ulong(value) for value in padded)))


def owns_network() -> bool:
    """Return whether this thread's network namespace belongs to its user namespace: capabilities count there then."""
    network = network_namespace()
    try:
        owner = fcntl.ioctl(network, _NS_GET_USERNS)
    except PermissionError:  # to a user namespace around this one
        return False
    finally:
        os.close(network)
    try:
        return os.fstat(owner).st_ino == Path("/proc/self/ns/user").stat().st_ino
    finally:
        os.close(owner)


def in_initial_user_namespace() -> bool:
    """Return whether capabilities of this process count for the whole machine."""
    return Path("/proc/self/uid_map").read_text().split() == ["0", "0", "4294967295"]


def network_namespace() -> int:
    """Return a descriptor of this thread's network namespace."""
    return os.open("/proc/thread-self/ns/net", os.O_RDONLY | os.O_CLOEXEC)


@contextmanager
def inside(namespace: int) -> Iterator[None]:
    """Run a block in another network namespace; children started in it stay there."""
    home = network_namespace()
    try:
        set_namespace(namespace, CLONE_NEWNET)
        try:
            yield
        finally:
            set_namespace(home, CLONE_NEWNET)
    finally:
        os.close(home)


def new_network_namespace() -> int:
    """Make an empty network namespace and return its descriptor; closing the last one destroys it."""
    home = network_namespace()
    try:
        unshare(CLONE_NEWNET)
        try:
            return network_namespace()
        finally:
            set_namespace(home, CLONE_NEWNET)
    finally:
        os.close(home)
