"""Run a command where seccomp(2) itself is refused, as in some containers: seccomp_run.py COMMAND…"""

import ctypes
import os
import struct
import sys

LOAD, JUMP_IF_EQUAL, RETURN = 0x20, 0x15, 0x06
SECCOMP_OF_X86_64 = 317
ERRNO_EPERM, ALLOW = 0x00050001, 0x7FFF0000
PR_SET_NO_NEW_PRIVS, PR_SET_SECCOMP, FILTER = 38, 22, 2


def main() -> None:
    code = [
        (LOAD, 0, 0, 0),
        (JUMP_IF_EQUAL, 0, 1, SECCOMP_OF_X86_64),
        (RETURN, 0, 0, ERRNO_EPERM),
        (RETURN, 0, 0, ALLOW),
    ]
    program = ctypes.create_string_buffer(b"".join(struct.pack("HBBI", *instruction) for instruction in code))
    filter_ = struct.pack("HxxxxxxQ", len(code), ctypes.addressof(program))
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) or libc.prctl(PR_SET_SECCOMP, FILTER, filter_):
        raise OSError(ctypes.get_errno(), "prctl")
    os.execvp(sys.argv[1], sys.argv[1:])


if __name__ == "__main__":
    main()
