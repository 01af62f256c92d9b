"""Readers of other processes, for tests; a process may end while it is read."""

from pathlib import Path


def command_line(pid: int) -> bytes:
    """A process's arguments, each ended by a zero byte; nothing of one that is gone or has ended."""
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes()
    except OSError:
        return b""


def has_ended(pid: int) -> bool:
    """Whether a process is gone, or waits only to be reaped."""
    fields = _stat(pid)
    return fields is None or fields[0] in ("Z", "X")


def parent_of(pid: int) -> int | None:
    """The process that a process descends from; None of one that is gone."""
    fields = _stat(pid)
    return None if fields is None else int(fields[1])


def leads_session(pid: int) -> bool:
    """Whether a process is the first of its session."""
    fields = _stat(pid)
    return fields is not None and int(fields[3]) == pid


def all_pids() -> list[int]:
    """Every process, as of now."""
    return [int(entry.name) for entry in Path("/proc").iterdir() if entry.name.isdigit()]


def _stat(pid: int) -> list[str] | None:
    """Fields of /proc/PID/stat behind the name: state, parent, …"""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return None
