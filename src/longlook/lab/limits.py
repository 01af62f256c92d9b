"""The limits of programs under test, in real time and in a guest. They are declared here and nowhere else.

They are generous: an honest program needs a tenth of each (docs/explanation/lab.md). A program that breaks one has
failed its trial, and the reason names the limit.
"""

import resource

OUTPUT_BYTES, OUTPUT_LINES = 16 << 20, 100_000
"""Standard output of one program in one trial: its JSON lines."""

STDERR_BYTES = 64 << 20
"""Standard error of one program in one trial."""

KEPT_BYTES = 768 << 20
"""Traces and TLS secrets of all servers, or of all clients, of a trial; also the longest file, and a program's home."""

ROOM_BYTES = 256 << 20
"""Each other place in which a program may have temporary files: `/tmp`, `/var/tmp`, `/dev/shm`."""

KEPT_IN_GUEST_BYTES = 512 << 20
"""The same in a guest, whose files lie in its 2 GiB of memory."""

ROOMS_IN_GUEST_BYTES = 384 << 20
"""Temporary files of all programs of a trial in a guest, of each an equal part, in whatever place."""

OUTLETS_IN_GUEST_BYTES = 256 << 20
"""Standard error and TLS secrets of all programs in a guest."""

KEPT_FILES = 10_000
"""How many files of traces, with their folders, the servers or the clients of a trial may leave; also how many files
and folders a program may have in each place for temporary ones."""

KEPT_DEPTH, SESSION_DEPTH = 8, 64
"""How many folders deep traces may lie (programs make two), and the files of a session client."""

MEMORY_BYTES = 2 << 30
"""Memory that a program with its descendants may use; a guest has no more than this for everything."""

MOST_TASKS = 512
"""Processes and threads of a program; Chromium has 245. A trial whose program forks without end took 3 to 12 s on two
CPUs. With twice as many tasks it took 26 to 34 s: the more there are, the less CPU time has each.
"""

TASKS_OF_OTHERS = 128
"""How many more processes and threads the kernel allows a user, for tasks that start and end. If programs have no users
of their own, the tasks of other programs count too.
"""

OPEN_FILES = 1 << 16
"""Descriptors of one process."""


def sentence(broken: str, home: str) -> str:
    """Return what a program did that broke a limit, by the name that `Compartment.broken` has for it."""
    if broken == "tasks":
        return f"started processes and threads up to the limit of {MOST_TASKS}"
    if broken == "memory":
        return f"used more than {mebibytes(MEMORY_BYTES)} of memory"
    size = KEPT_BYTES if broken == home else ROOM_BYTES
    place = "its home folder" if broken == home else broken
    return f"filled {place}, which holds {mebibytes(size)} and {KEPT_FILES} files and folders"


NO_DESCRIPTOR = "or another program of the trial opened more files of the host than its guest may"
"""A reason for every program of a trial, if few files are left in the guest's kernel at its end: nothing shows which
program had opened them.
"""


def full_in_guest(byte_count: int, files: int) -> str:
    """Return what a program of a guest did that filled its places for temporary files."""
    return f"filled its places for temporary files, which hold {mebibytes(byte_count)} and {files} files and folders"


def of_each_process(longest_file: int | None) -> dict[int, int]:
    """Return the limits that the kernel keeps for every process of a program, by the number of `setrlimit`.

    `longest_file` is in bytes, None for no limit.
    """
    files = {} if longest_file is None else {resource.RLIMIT_FSIZE: longest_file}
    tasks_of_user = {resource.RLIMIT_NPROC: MOST_TASKS + TASKS_OF_OTHERS}
    return files | tasks_of_user | {resource.RLIMIT_NOFILE: OPEN_FILES, resource.RLIMIT_CORE: 0}


def mebibytes(count: int) -> str:
    """Return a number of bytes as text, in whole mebibytes."""
    return f"{count >> 20} MiB"
