"""Run a command where some system calls are refused, as in containers: seccomp_run.py KIND[,KIND…] COMMAND…"""

import ctypes
import os
import struct
import sys

LOAD, JUMP_IF_EQUAL, JUMP_IF_ANY_SET, RETURN = 0x20, 0x15, 0x45, 0x06
NUMBER, FIRST_ARGUMENT = 0, 16
ERRNO_EPERM, ERRNO_ENOSYS, ALLOW = 0x00050001, 0x00050026, 0x7FFF0000
PR_SET_NO_NEW_PRIVS, PR_SET_SECCOMP, FILTER = 38, 22, 2

# Of x86-64.
CLONE, UNSHARE, SECCOMP, LANDLOCK_CREATE_RULESET, CLONE3 = 56, 272, 317, 444, 435
SETGROUPS, SETRESUID, SETRESGID = 116, 117, 119
NEW_NAMESPACES = 0x7E020000

Instruction = tuple[int, int, int, int]


def refused(number: int, answer: int) -> list[Instruction]:
    return [(JUMP_IF_EQUAL, 0, 1, number), (RETURN, 0, 0, answer)]


KINDS: dict[str, list[Instruction]] = {
    "seccomp": refused(SECCOMP, ERRNO_EPERM),
    "landlock": refused(LANDLOCK_CREATE_RULESET, ERRNO_ENOSYS),
    "users": [*refused(SETGROUPS, ERRNO_EPERM), *refused(SETRESUID, ERRNO_EPERM), *refused(SETRESGID, ERRNO_EPERM)],
    "namespaces": [
        *refused(UNSHARE, ERRNO_EPERM),
        *refused(CLONE3, ERRNO_ENOSYS),
        (JUMP_IF_EQUAL, 0, 4, CLONE),
        (LOAD, 0, 0, FIRST_ARGUMENT),
        (JUMP_IF_ANY_SET, 0, 1, NEW_NAMESPACES),
        (RETURN, 0, 0, ERRNO_EPERM),
        (LOAD, 0, 0, NUMBER),
    ],
}


def main() -> None:
    rules = [instruction for kind in sys.argv[1].split(",") for instruction in KINDS[kind]]
    code = [(LOAD, 0, 0, NUMBER), *rules, (RETURN, 0, 0, ALLOW)]
    program = ctypes.create_string_buffer(b"".join(struct.pack("HBBI", *instruction) for instruction in code))
    filter_ = struct.pack("HxxxxxxQ", len(code), ctypes.addressof(program))
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) or libc.prctl(PR_SET_SECCOMP, FILTER, filter_):
        raise OSError(ctypes.get_errno(), "prctl")
    os.execvp(sys.argv[2], sys.argv[2:])


if __name__ == "__main__":
    main()
