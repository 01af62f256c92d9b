"""A filter of system calls for programs under test: what only administrators and debuggers call is refused (EPERM).

Without capabilities the kernel refuses nearly all of it anyway. The filter takes away further rights of ordinary users
that no program of a trial needs: user namespaces, in which a process is its own administrator, and the inspection of
others. It also takes away io_uring, whose calls no filter sees, and sockets to the hypervisor (AF_VSOCK), which belong
to no network namespace.
"""

import ctypes
import errno
import platform
import struct
from collections.abc import Mapping

from longlook.lab.linux import system

_REFUSED: Mapping[str, Mapping[str, int]] = {
    "x86_64": {
        "ptrace": 101, "pivot_root": 155, "mount": 165, "umount2": 166, "swapon": 167, "reboot": 169,
        "init_module": 175, "add_key": 248, "request_key": 249, "keyctl": 250, "unshare": 272,
        "perf_event_open": 298, "open_by_handle_at": 304, "setns": 308, "process_vm_readv": 310,
        "process_vm_writev": 311, "kcmp": 312, "finit_module": 313, "kexec_file_load": 320, "bpf": 321,
        "userfaultfd": 323, "io_uring_setup": 425, "io_uring_enter": 426, "io_uring_register": 427,
        "open_tree": 428, "move_mount": 429, "fsopen": 430, "fsconfig": 431, "fsmount": 432,
        "pidfd_getfd": 438, "process_madvise": 440, "mount_setattr": 442, "process_mrelease": 448,
    },
    "aarch64": {
        "umount2": 39, "mount": 40, "pivot_root": 41, "unshare": 97, "init_module": 105, "ptrace": 117,
        "reboot": 142, "add_key": 217, "request_key": 218, "keyctl": 219, "swapon": 224, "perf_event_open": 241,
        "open_by_handle_at": 265, "setns": 268, "process_vm_readv": 270, "process_vm_writev": 271, "kcmp": 272,
        "finit_module": 273, "bpf": 280, "userfaultfd": 282, "kexec_file_load": 294, "io_uring_setup": 425,
        "io_uring_enter": 426, "io_uring_register": 427, "open_tree": 428, "move_mount": 429, "fsopen": 430,
        "fsconfig": 431, "fsmount": 432, "pidfd_getfd": 438, "process_madvise": 440, "mount_setattr": 442,
        "process_mrelease": 448,
    },
}  # fmt: skip
_ARCHITECTURES = {"x86_64": 0xC000003E, "aarch64": 0xC00000B7}
_CLONE = {"x86_64": 56, "aarch64": 220}
_SOCKET = {"x86_64": 41, "aarch64": 198}
_AF_VSOCK = 40
_CLONE3 = 435
_X32 = 0x40000000  # system calls of another interface of x86-64, which nothing uses

_LOAD, _JUMP_EQUAL, _JUMP_SET, _JUMP_GREATER_EQUAL, _RETURN = 0x20, 0x15, 0x45, 0x35, 0x06
_ALLOW, _REFUSE = 0x7FFF0000, 0x00050000
_NUMBER, _ARCHITECTURE, _FIRST_ARGUMENT = 0, 4, 16  # offsets in struct seccomp_data


def refuse_administration() -> None:
    """Filter the system calls of this thread and of everything that it starts, for ever.

    Do nothing on machines that have no table here. Raise OSError if the kernel has no filters.
    """
    if filters_here():
        program = filter_for(platform.machine())
        instructions = ctypes.create_string_buffer(program)
        header = struct.pack("HxxxxxxP", len(program) // 8, ctypes.addressof(instructions))
        system.filter_system_calls(header)


def filters_here() -> bool:
    """Return whether there is a table for this machine."""
    return platform.machine() in _REFUSED


def filter_for(machine: str) -> bytes:
    """Return the filter of a machine that has a table here, in classic BPF.

    Its last three instructions are: refuse, "no such call", allow.
    """
    tests = [
        (_LOAD, _ARCHITECTURE, None, None),
        (_JUMP_EQUAL, _ARCHITECTURES[machine], "next", "refuse"),
        (_LOAD, _NUMBER, None, None),
        (_JUMP_GREATER_EQUAL, _X32, "refuse", "next"),
        *((_JUMP_EQUAL, number, "refuse", "next") for number in _REFUSED[machine].values()),
        (_JUMP_EQUAL, _CLONE3, "missing", "next"),  # its flags lie in memory: programs then use clone
        (_JUMP_EQUAL, _SOCKET[machine], "socket", "next"),
        (_JUMP_EQUAL, _CLONE[machine], "next", "allow"),
        (_LOAD, _FIRST_ARGUMENT, None, None),
        (_JUMP_SET, system.CLONE_NEWUSER, "refuse", "allow"),
        (_LOAD, _FIRST_ARGUMENT, None, None),
        (_JUMP_EQUAL, _AF_VSOCK, "refuse", "allow"),
    ]
    ends = {"socket": len(tests) - 2, "refuse": len(tests), "missing": len(tests) + 1, "allow": len(tests) + 2}
    program = b""
    for at, (code, value, yes, no) in enumerate(tests):
        jumps = [0 if target in (None, "next") else ends[target] - at - 1 for target in (yes, no)]
        program += struct.pack("HBBI", code, *jumps, value)
    for value in (_REFUSE | errno.EPERM, _REFUSE | errno.ENOSYS, _ALLOW):
        program += struct.pack("HBBI", _RETURN, 0, 0, value)
    return program
