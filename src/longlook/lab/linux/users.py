"""The users that programs under test run as: a block of them for each laboratory, one for each of its programs.

On a host they are systemd's dynamic users, which it gives to services for as long as they run. A laboratory claims its
block by a socket named after it, which the kernel removes with the laboratory; so no two laboratories of a machine have
a user in common.
"""

import os
import platform
import signal
import socket
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

FIRST_USER, USERS = 61184, 4336
BLOCK = 64
"""How many users a laboratory has: a trial with more programs gives some of them the same user."""

SYSTEM_CALLS = {"x86_64": (116, 119, 117), "aarch64": (159, 149, 147)}
"""setgroups, setresgid and setresuid by machine: the C library's own functions change every thread."""

_NAME = "\0longlook-users-{}"


class Claim:
    """A laboratory's claim of the block of users that begins with `first`; it ends with the last holder's process."""

    def __init__(self) -> None:
        self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self.first = FIRST_USER + os.getpid() % (USERS // BLOCK) * BLOCK  # if all are taken
        for block in range(USERS // BLOCK):
            try:
                self._socket.bind(_NAME.format(block))
            except OSError:
                continue
            self.first = FIRST_USER + block * BLOCK
            break

    def close(self) -> None:
        """Give the block back."""
        self._socket.close()


class Users:
    """Names the users of a laboratory's programs, by the name of the program: the same one in every trial."""

    def __init__(self, first: int) -> None:
        self._first = first
        self._given: dict[str, int] = {}

    def of(self, program: str) -> int | None:
        """Return the user, and group, of a program; None if this user namespace has none but its root."""
        if not can_be_others(self._first):
            return None
        return self._first + self._given.setdefault(program, len(self._given)) % BLOCK


def end_all_of(users: Iterable[int | None]) -> None:
    """Kill every process of each user (None: of nobody) in one call, so that none can start another meanwhile.

    The caller is process 1 of a guest, and root. It is the user itself meanwhile, since a child of it is costly there.
    """
    for user in users:
        if user is None:
            continue
        os.setresuid(user, user, 0)
        try:
            with suppress(ProcessLookupError):
                os.kill(-1, signal.SIGKILL)  # all that this user may signal, but for the caller
        finally:
            os.setresuid(0, 0, 0)


def can_be_others(first: int = FIRST_USER) -> bool:
    """Return whether this process may start programs as the users of a block."""
    if os.geteuid() != 0 or platform.machine() not in SYSTEM_CALLS:
        return False
    mapped = all(_are_mapped(name, first) for name in ("uid_map", "gid_map"))
    return mapped and Path("/proc/self/setgroups").read_text().strip() == "allow"


def _are_mapped(name: str, block: int) -> bool:
    ranges = [list(map(int, line.split())) for line in Path(f"/proc/self/{name}").read_text().splitlines()]
    return any(first <= block and block + BLOCK <= first + count for first, _, count in ranges)
