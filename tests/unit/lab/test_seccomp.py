"""The filter of system calls, run as the kernel runs it."""

import errno
import struct

import pytest

from longlook.lab.linux.seccomp import filter_for

ALLOW, REFUSE, MISSING = 0x7FFF0000, 0x00050000 | errno.EPERM, 0x00050000 | errno.ENOSYS
ARCHITECTURES = {"x86_64": 0xC000003E, "aarch64": 0xC00000B7}
READ, SOCKET, CLONE = {"x86_64": 0, "aarch64": 63}, {"x86_64": 41, "aarch64": 198}, {"x86_64": 56, "aarch64": 220}
AF_INET, AF_VSOCK, CLONE_NEWUSER = 2, 40, 0x10000000
REFUSED = {
    "x86_64": {"ptrace": 101, "process_vm_writev": 311, "kcmp": 312, "userfaultfd": 323},
    "aarch64": {"ptrace": 117, "process_vm_writev": 271, "kcmp": 272, "userfaultfd": 282},
}
ON_BOTH = {"io_uring_setup": 425, "pidfd_getfd": 438, "process_madvise": 440, "clone3": 435}


def decide(machine: str, number: int, argument: int = 0, architecture: int | None = None) -> int:
    """What the filter returns for a system call with this first argument."""
    data = struct.pack("=IIQQ", number, architecture or ARCHITECTURES[machine], 0, argument)
    code = [struct.unpack_from("HBBI", filter_for(machine), at) for at in range(0, len(filter_for(machine)), 8)]
    at, value = 0, 0
    while True:
        what, yes, no, operand = code[at]
        at += 1
        if what == 0x06:
            return int(operand)
        if what == 0x20:
            (value,) = struct.unpack_from("=I", data, operand)
        else:
            holds = {0x15: value == operand, 0x35: value >= operand, 0x45: bool(value & operand)}[what]
            at += yes if holds else no


@pytest.mark.parametrize("machine", ["x86_64", "aarch64"])
def test_what_touches_others_is_refused_and_work_is_not(machine: str) -> None:
    assert decide(machine, READ[machine]) == ALLOW
    assert {decide(machine, number) for number in REFUSED[machine].values()} == {REFUSE}
    assert {name: decide(machine, number) for name, number in ON_BOTH.items()} == {
        **dict.fromkeys(ON_BOTH, REFUSE),
        "clone3": MISSING,
    }


@pytest.mark.parametrize("machine", ["x86_64", "aarch64"])
def test_arguments_decide_of_sockets_and_clones(machine: str) -> None:
    assert decide(machine, SOCKET[machine], AF_INET) == ALLOW
    assert decide(machine, SOCKET[machine], AF_VSOCK) == REFUSE
    assert decide(machine, CLONE[machine], 17) == ALLOW
    assert decide(machine, CLONE[machine], CLONE_NEWUSER | 17) == REFUSE


def test_calls_of_other_interfaces_are_refused() -> None:
    assert decide("x86_64", 0, architecture=0x40000003) == REFUSE  # 32 bits
    assert decide("x86_64", 0x40000000) == REFUSE  # x32
