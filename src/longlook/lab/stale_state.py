"""Records of running laboratories, so that a scratch folder whose agent was killed is found and removed.

Nothing else needs this: processes, namespaces and devices end with the agent by the kernel's own doing.
"""

import json
import os
import secrets
import shutil
import tempfile
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path

from longlook.core import paths
from longlook.lab.linux import cpuquota

_PREFIX = "longlook-"
_DEAD = ("Z", "X")


@dataclass(frozen=True)
class Record:
    """A laboratory: who owns it, told apart from a later process of the same number, and its scratch folder."""

    marker: str
    pid: int
    start_ticks: int  # since boot
    boot_id: str
    scratch: str

    @property
    def path(self) -> Path:
        """The record's file."""
        return paths.state_dir() / f"{self.marker}.json"

    def close(self) -> None:
        """Remove the scratch folder, then the record."""
        _remove_scratch(self)
        cpuquota.clear(self.marker)
        self.path.unlink(missing_ok=True)


def open_record() -> Record:
    """Record this process as the owner of a new laboratory and make its scratch folder.

    The record comes first, so that no moment leaves a folder without one. The folder lies below the system's temporary
    one, because paths of sockets inside it must stay short.
    """
    marker = secrets.token_hex(6)
    pid = os.getpid()
    scratch = Path(tempfile.gettempdir()) / f"{_PREFIX}{marker}"
    record = Record(marker, pid, start_ticks(pid) or 0, boot_id(), str(scratch))
    record.path.parent.mkdir(parents=True, exist_ok=True)
    record.path.write_text(json.dumps(asdict(record)))
    scratch.mkdir(mode=0o700)
    return record


def clear_stale_state() -> list[str]:
    """Remove the scratch folders of laboratories whose owner is dead, and return them. Others are left alone."""
    removed = []
    for path in sorted(paths.state_dir().glob("*.json")):
        record = _read(path)
        if record is None or _is_alive(record):
            continue
        if _remove_scratch(record):
            removed.append(record.scratch)
        cpuquota.clear(record.marker)
        path.unlink(missing_ok=True)
    return removed


def _read(path: Path) -> Record | None:
    try:
        record = Record(**json.loads(path.read_text()))
    except (OSError, ValueError, TypeError):
        return None  # written this moment, or not ours
    return record if path.stem == record.marker else None


def _is_alive(record: Record) -> bool:
    return is_same_process(record.pid, record.start_ticks, record.boot_id)


def _remove_scratch(record: Record) -> bool:
    scratch = Path(record.scratch)
    if scratch.name != f"{_PREFIX}{record.marker}" or scratch.is_symlink():
        return False
    with suppress(FileNotFoundError):
        if scratch.stat().st_uid == os.geteuid():
            shutil.rmtree(scratch)
            return True
    return False


def is_same_process(pid: int, started: int | None, boot: str) -> bool:
    """Whether a process noted down by number, start and boot still runs."""
    return boot == boot_id() and started is not None and start_ticks(pid) == started


def start_ticks(pid: int) -> int | None:
    """When a process started; None for one that is gone, or ended and not yet reaped."""
    try:
        text = Path(f"/proc/{pid}/stat").read_text()
    except OSError:
        return None
    state, *rest = text.rpartition(")")[2].split()
    return None if state in _DEAD else int(rest[18])


def boot_id() -> str:
    """What tells this start of the machine from any other."""
    return Path("/proc/sys/kernel/random/boot_id").read_text().strip()
