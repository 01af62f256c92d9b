"""Becomes a build with limits and without privileges: `confined_child.py SPECIFICATION COMMAND…`.

It is started by its path and without this package (`provision.confined`). The specification is JSON: `file_bytes` and
`memory_bytes` of each process and, in namespaces of its own, `writable` and `hidden` paths and whether it is `offline`.
There, all mounts become read-only except for what is writable, devices are the harmless ones, and a process that is
offline makes no socket by which it could reach another. Standard library only.
"""

import ctypes
import json
import os
import platform
import resource
import signal
import struct
import sys
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import NoReturn

# linux/mount.h, linux/prctl.h, linux/fcntl.h
_NOSUID, _BIND, _RECURSIVE, _PRIVATE = 0x2, 0x1000, 0x4000, 0x40000
_MOUNT_SETATTR, _AT_FDCWD, _AT_RECURSIVE = 442, -100, 0x8000
_READ_ONLY, _NO_SET_USER, _NO_DEVICES = 1, 2, 4
_SET_SECCOMP, _DROP_BOUND, _NO_NEW_PRIVILEGES, _AMBIENT, _CLEAR_AMBIENT = 22, 24, 38, 47, 4
_CAPABILITY_VERSION = 0x20080522

_DEVICES = ("null", "zero", "full", "random", "urandom")
_LINKS = {"fd": "/proc/self/fd", "stdin": "/proc/self/fd/0", "stdout": "/proc/self/fd/1", "stderr": "/proc/self/fd/2"}
_SHARED, _SHARED_BYTES = Path("/dev", "shm"), 64 << 20
_OWN_FAMILIES = (2, 10, 16)  # AF_INET, AF_INET6, AF_NETLINK: those that a network namespace confines

# linux/seccomp.h, linux/filter.h, linux/audit.h
_FILTER_MODE, _ALLOW, _REFUSE, _MISSING = 2, 0x7FFF0000, 0x50000 | 13, 0x50000 | 38
_LOAD, _EQUAL, _AT_LEAST, _RETURN = 0x20, 0x15, 0x35, 0x06
_NUMBER_AT, _ARCHITECTURE_AT, _FIRST_ARGUMENT_AT = 0, 4, 16
_SYSCALLS = {  # its architecture; socket, io_uring_setup, add_key, request_key, keyctl
    "x86_64": (0xC000003E, 41, (425, 248, 249, 250)),
    "aarch64": (0xC00000B7, 198, (425, 217, 218, 219)),
}
_X32 = 0x40000000

_libc = ctypes.CDLL(None, use_errno=True)


def main(arguments: Sequence[str]) -> NoReturn:
    """Confine this process and execute the command; OSError if the kernel refuses a step."""
    asked = json.loads(arguments[0])
    if "writable" in asked:
        _confine([os.fsencode(path) for path in asked["writable"]], asked["hidden"])
    for number, most in (
        (resource.RLIMIT_CORE, 0),
        (resource.RLIMIT_FSIZE, asked["file_bytes"]),
        (resource.RLIMIT_DATA, asked["memory_bytes"]),
    ):
        _, hard = resource.getrlimit(number)
        bound = most if hard == resource.RLIM_INFINITY else min(most, hard)
        resource.setrlimit(number, (bound, bound))
    _drop_capabilities()
    _expect(_libc.prctl(_NO_NEW_PRIVILEGES, 1, 0, 0, 0))
    if asked.get("offline"):
        _refuse_sockets()
    for ignored in (signal.SIGPIPE, signal.SIGXFSZ):  # by Python
        signal.signal(ignored, signal.SIG_DFL)
    os.execvp(arguments[1], list(arguments[1:]))  # noqa: S606


def _confine(writable: Sequence[bytes], hidden: Sequence[str]) -> None:
    """Make all mounts read-only and without devices, except for paths, and hide others."""
    _expect(_libc.mount(None, b"/", None, _RECURSIVE | _PRIVATE, None))
    devices = [device for path in hidden for device in _hide(Path(path))]
    devices += _own_devices()
    for path in writable:
        _expect(_libc.mount(path, path, None, _BIND | _RECURSIVE, None))
    _set_attributes(b"/", put=_READ_ONLY | _NO_DEVICES | _NO_SET_USER)
    for path in (*writable, os.fsencode(_SHARED)):
        _set_attributes(path, clear=_READ_ONLY)
    for path in devices:
        _set_attributes(path, clear=_NO_DEVICES)
    os.chdir(Path.cwd())  # through the new mounts


def _hide(path: Path) -> list[bytes]:
    """Put an empty folder over one, or /dev/null over a file, of which the path is returned.

    A build does not reach what this user does not reach, either.
    """
    with suppress(PermissionError):
        if path.is_dir():
            _expect(_libc.mount(b"tmpfs", os.fsencode(path), b"tmpfs", _NOSUID, b"mode=755"))
        elif path.exists():
            _expect(_libc.mount(b"/dev/null", os.fsencode(path), None, _BIND, None))
            return [os.fsencode(path)]
    return []


def _own_devices() -> list[bytes]:
    """Make a /dev with the devices that touch nothing, and memory to share; return the paths of these devices."""
    sources = {name: os.open(f"/dev/{name}", os.O_PATH) for name in _DEVICES}
    _expect(_libc.mount(b"tmpfs", b"/dev", b"tmpfs", _NOSUID, b"size=64k,mode=755"))
    for name, source in sources.items():
        place = Path("/dev", name)
        place.touch()
        _expect(_libc.mount(b"/proc/self/fd/%d" % source, os.fsencode(place), None, _BIND, None))
        os.close(source)
    for name, target in _LINKS.items():
        Path("/dev", name).symlink_to(target)
    _SHARED.mkdir()
    options = b"size=%d,mode=1777" % _SHARED_BYTES
    _expect(_libc.mount(b"tmpfs", os.fsencode(_SHARED), b"tmpfs", _NOSUID, options))
    return [os.fsencode(Path("/dev", name)) for name in _DEVICES]


def _set_attributes(path: bytes, *, put: int = 0, clear: int = 0) -> None:
    """Set and clear attributes of the mount at a path, and of all mounts below it (mount_setattr(2), Linux 5.12)."""
    attributes = (ctypes.c_uint64 * 4)(put, clear, 0, 0)
    size = ctypes.c_size_t(ctypes.sizeof(attributes))
    call = ctypes.c_long(_MOUNT_SETATTR)
    _expect(_libc.syscall(call, _AT_FDCWD, path, _AT_RECURSIVE, ctypes.byref(attributes), size))


def _drop_capabilities() -> None:
    """Give up all capabilities, and the ways in which a program could get any."""
    _libc.prctl(_AMBIENT, _CLEAR_AMBIENT, 0, 0, 0)
    capability = 0
    while _libc.prctl(_DROP_BOUND, capability, 0, 0, 0) == 0:  # until there is no such capability
        capability += 1
    header = (ctypes.c_uint32 * 2)(_CAPABILITY_VERSION, 0)
    _expect(_libc.capset(ctypes.byref(header), ctypes.byref((ctypes.c_uint32 * 6)())))


def _refuse_sockets() -> None:
    """Refuse the kernel's keys, and sockets that no network namespace confines: daemons listen at paths of the file
    system (seccomp(2)).
    """
    if (known := _SYSCALLS.get(platform.machine())) is None:
        return
    architecture, socket, refused = known
    lines = [(_LOAD, 0, 0, _ARCHITECTURE_AT), (_EQUAL, 1, 0, architecture), (_RETURN, 0, 0, _MISSING)]
    lines += [(_LOAD, 0, 0, _NUMBER_AT), (_AT_LEAST, 0, 1, _X32), (_RETURN, 0, 0, _MISSING)]
    for number in refused:
        lines += [(_EQUAL, 0, 1, number), (_RETURN, 0, 0, _REFUSE)]
    lines += [(_EQUAL, 1, 0, socket), (_RETURN, 0, 0, _ALLOW), (_LOAD, 0, 0, _FIRST_ARGUMENT_AT)]
    for family in _OWN_FAMILIES:
        lines += [(_EQUAL, 0, 1, family), (_RETURN, 0, 0, _ALLOW)]
    lines += [(_RETURN, 0, 0, _REFUSE)]
    code = ctypes.create_string_buffer(b"".join(struct.pack("=HBBI", *line) for line in lines))
    program = struct.pack("@HP", len(lines), ctypes.addressof(code))
    _expect(_libc.prctl(_SET_SECCOMP, _FILTER_MODE, ctypes.c_char_p(program), 0, 0))


def _expect(result: int) -> None:
    if result != 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))


if __name__ == "__main__":
    main(sys.argv[1:])
