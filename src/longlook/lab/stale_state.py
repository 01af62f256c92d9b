"""Records of running laboratories, by which the next start finds and removes what a killed agent left.

Such an agent leaves a scratch folder and perhaps a control group: the kernel itself ends the agent's processes,
namespaces and devices. A record is a JSON file in the state directory (`core.paths.state_dir`).
"""

import json
import os
import secrets
import tempfile
from contextlib import suppress
from dataclasses import asdict, dataclass, fields
from pathlib import Path

from longlook.core import paths, remove_tree
from longlook.lab.linux import cpuquota, limit_groups

_PREFIX = "longlook-"
_DEAD = ("Z", "X")


@dataclass(frozen=True)
class Record:
    """A laboratory: its owner, distinguished from a later process of the same pid, and its scratch folder."""

    marker: str
    pid: int
    start_ticks: int  # since boot
    boot_id: str
    scratch: str

    @property
    def path(self) -> Path:
        """Return the path of the record's file."""
        return paths.state_dir() / f"{self.marker}.json"

    def close(self) -> None:
        """Remove the scratch folder and control groups, then the record."""
        _remove_scratch(self)
        cpuquota.clear(self.marker)
        limit_groups.clear(self.marker)
        self.path.unlink(missing_ok=True)


def open_record() -> Record:
    """Record this process as the owner of a new laboratory, make its scratch folder and return the record.

    The record is written first, so that there is never a folder without one. The folder lies below the system's
    temporary folder, because paths of sockets inside it must stay short.
    """
    marker = secrets.token_hex(6)
    pid = os.getpid()
    scratch = Path(tempfile.gettempdir()) / f"{_PREFIX}{marker}"
    record = Record(marker, pid, start_ticks(pid) or 0, boot_id(), str(scratch))
    record.path.parent.mkdir(parents=True, exist_ok=True)
    record.path.write_text(json.dumps(asdict(record)))
    scratch.mkdir(mode=0o700)
    limit_groups.own_controllers()  # by which `close` finds the groups
    return record


def clear_stale_state() -> list[str]:
    """Remove what laboratories with a dead owner left, and return the removed scratch folders."""
    removed = []
    for path in sorted(paths.state_dir().glob("*.json")):
        record = _read(path)
        if record is None or _is_alive(record):
            continue
        if _remove_scratch(record):
            removed.append(record.scratch)
        cpuquota.clear(record.marker)
        limit_groups.clear(record.marker)
        path.unlink(missing_ok=True)
    return removed


def _read(path: Path) -> Record | None:
    """Return a record, None for a file that is being written, or is not a record.

    Fields that only another version of Longlook knows are ignored, so that its scratch folders are removed too.
    """
    known = {item.name for item in fields(Record)}
    try:
        data = json.loads(path.read_text())
        record = Record(**{name: value for name, value in data.items() if name in known})
    except (OSError, ValueError, TypeError, AttributeError):
        return None
    return record if path.stem == record.marker else None


def _is_alive(record: Record) -> bool:
    return is_same_process(record.pid, record.start_ticks, record.boot_id)


def _remove_scratch(record: Record) -> bool:
    scratch = Path(record.scratch)
    if scratch.name != f"{_PREFIX}{record.marker}" or scratch.is_symlink():
        return False
    with suppress(FileNotFoundError):
        if scratch.stat().st_uid == os.geteuid():
            remove_tree(scratch)
            return True
    return False


def is_same_process(pid: int, started: int | None, boot: str) -> bool:
    """Return whether a process that was recorded by pid, start (ticks since boot) and boot still runs."""
    return boot == boot_id() and started is not None and start_ticks(pid) == started


def start_ticks(pid: int) -> int | None:
    """Return when a process started, in ticks since boot; None if it is gone, or ended and not yet reaped."""
    try:
        text = Path(f"/proc/{pid}/stat").read_text()
    except OSError:
        return None
    state, *rest = text.rpartition(")")[2].split()
    return None if state in _DEAD else int(rest[18])


def boot_id() -> str:
    """Return the id of this boot of the machine."""
    return Path("/proc/sys/kernel/random/boot_id").read_text().strip()
