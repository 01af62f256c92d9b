"""The process of this machine that writes to a run: the holder of the lock of its folder.

Nothing is locked to find out, since a run that takes its folder at that moment would be refused. The kernel lists all
locks in `/proc/locks` (proc_locks(5)), by device and inode.
"""

import os
from dataclasses import dataclass
from pathlib import Path

_LOCK = ".lock"
_UNNAMED = 0
"""The number of a process that this one cannot see, such as one of another container."""


@dataclass(frozen=True)
class Holder:
    """The process that holds a lock. `pid` is 0 if the kernel does not tell it."""

    pid: int

    @property
    def command(self) -> str:
        """The command of the process; empty if it cannot be read."""
        try:
            words = Path(f"/proc/{self.pid}/cmdline").read_bytes().split(b"\0")
        except OSError:
            return ""
        return " ".join(os.fsdecode(word) for word in words if word)

    @property
    def cpu_s(self) -> float:
        """The CPU seconds of the process and of its children that have ended; 0 if they cannot be read."""
        try:
            fields = Path(f"/proc/{self.pid}/stat").read_text(encoding="utf-8", errors="replace").rpartition(")")[2]
        except OSError:
            return 0.0
        return sum(map(int, fields.split()[11:15])) / os.sysconf("SC_CLK_TCK")


def holder_of(run: Path) -> Holder | None:
    """Return the process that writes to a run folder; None if none does."""
    return holder_of_file(run / _LOCK)


def holder_of_file(file: Path) -> Holder | None:
    """Return the process that has locked a file; None if none has, or there is no such file."""
    try:
        state = file.lstat()
        lines = Path("/proc/locks").read_text(encoding="ascii").splitlines()
    except OSError:
        return None
    place = f"{os.major(state.st_dev):02x}:{os.minor(state.st_dev):02x}:{state.st_ino}"
    for line in lines:
        fields = line.split()
        # `1: FLOCK ADVISORY WRITE 4711 08:01:123456 0 EOF`; a process that waits has `->` behind the number
        if len(fields) > 5 and fields[1] == "FLOCK" and fields[5] == place:
            return Holder(max(_UNNAMED, int(fields[4])))
    return None
