"""The limits of programs under test, the same in real and in virtual time. They are declared here and nowhere else.

They are generous: an honest program needs a tenth of each (docs/lab.md). A program that breaks one has failed its
trial, and the reason names the limit.
"""

import resource

OUTPUT_BYTES, OUTPUT_LINES = 16 << 20, 100_000
"""Standard output of one program in one trial: its JSON lines."""

STDERR_BYTES = 64 << 20
"""Standard error of one program in one trial."""

KEPT_BYTES = 768 << 20
"""Traces and TLS secrets of all servers, or of all clients, of a trial; also the longest file, and temporary files."""

KEPT_FILES = 10_000
"""How many files of traces the servers, or the clients, of a trial may leave."""

MEMORY_BYTES = 2 << 30
"""Memory of its own that a program with its descendants may use; a guest has no more than this for everything."""

TASKS, TASKS_A_FLOW = 1024, 32
"""Processes and threads of all programs of a trial together, and how many more for each flow beyond the first."""

TASKS_OF_OTHERS = 128
"""How many more processes and threads the kernel allows: it counts all of the user, session clients' too."""

OPEN_FILES = 1 << 16
"""Descriptors of one process."""


def tasks_of(flows: int) -> int:
    """Return how many processes and threads the programs of a trial with so many flows may have together."""
    return TASKS + TASKS_A_FLOW * max(0, flows - 1)


def of_each_process(longest_file: int | None) -> dict[int, int]:
    """Return the limits that the kernel keeps for every process of a program, by the number of `setrlimit`.

    `longest_file` is in bytes, None for no limit.
    """
    files = {} if longest_file is None else {resource.RLIMIT_FSIZE: longest_file}
    return files | {resource.RLIMIT_NOFILE: OPEN_FILES, resource.RLIMIT_CORE: 0}


def mebibytes(count: int) -> str:
    """Return a number of bytes as text, in whole mebibytes."""
    return f"{count >> 20} MiB"
