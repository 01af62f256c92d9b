"""Changes of a running `longlook link` that the kernel does not undo by itself, recorded before they are made.

Devices, namespaces and the table of nftables go with the processes that hold them. After SIGKILL, processes in the
inner namespaces, the router, a scratch folder, and forwarding that was turned on outside are left. The record names
them. The reaper (`reaper`) releases it when its owner dies; if both have died, the next start does.
"""

import json
import os
import secrets
import shutil
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass
from pathlib import Path

from longlook.core import MachineError, one_at_a_time, paths
from longlook.lab import boot_id, is_same_process, start_ticks
from longlook.outside.processes import kill_all, network_of

_PREFIX = "longlook-link-"
_ATTEMPTS, _POLL_S = 100, 0.01


@dataclass
class LinkRecord:
    """A running link: its owner, and everything that must end with it. It is written again whenever it changes."""

    marker: str
    pid: int
    started: int
    boot: str
    outside: int  # number of the network namespace that it was started in
    scratch: str
    inside: tuple[int, ...] = ()  # numbers of the network namespaces whose processes end with the link
    helpers: tuple[tuple[int, int], ...] = ()  # number and start of processes in other namespaces: the router, …
    forwarding: tuple[str, ...] = ()  # devices outside on which this link, or one beside it, turned forwarding on

    @property
    def path(self) -> Path:
        """Return the record's file."""
        return _folder() / f"{self.marker}.json"

    @property
    def folder(self) -> Path:
        """Return the scratch folder."""
        return Path(self.scratch)

    def write(self) -> None:
        """Write the record, whole or not at all."""
        draft = self.path.with_suffix(".new")
        draft.write_text(json.dumps(asdict(self)))
        draft.replace(self.path)

    def owner_lives(self) -> bool:
        """Return whether the process that made it still runs."""
        return is_same_process(self.pid, self.started, self.boot)

    def note_helper(self, pid: int) -> None:
        """Record a process that must end with the link."""
        self.helpers = (*self.helpers, (pid, start_ticks(pid) or 0))
        self.write()

    def turn_forwarding_on(self, devices: list[str]) -> list[str]:
        """Let these devices forward while any link needs it; return the devices that would not forward without one."""
        with locked():
            lent = {device for other in _records() if self._is_beside(other) for device in other.forwarding}
            needed = [device for device in devices if device in lent or not forwards(device)]
            self.forwarding = tuple(needed)
            self.write()
            for device in needed:
                _forwarding(device).write_text("1")
        return needed

    def release(self) -> bool:
        """Undo everything and remove the record; return False if a part can only be undone from another namespace."""
        kill_all(pid for pid, started in self.helpers if is_same_process(pid, started, self.boot))
        if self.boot == boot_id():
            for namespace in self.inside:
                _kill_all_of(namespace, self.marker)
        with locked():
            if self.forwarding and not self._give_forwarding_back():
                return False
            if self.folder.name == f"{_PREFIX}{self.marker}" and not self.folder.is_symlink():
                shutil.rmtree(self.folder, ignore_errors=True)
            self.path.unlink(missing_ok=True)
        return True

    def _give_forwarding_back(self) -> bool:
        if self.boot != boot_id():
            return True
        if network_of("self") != self.outside:
            return not _is_inhabited(self.outside)
        beside = {device for other in _records() if self._is_beside(other) for device in other.forwarding}
        for device in set(self.forwarding) - beside:
            with suppress(OSError):  # the device is gone
                _forwarding(device).write_text("0")
        return True

    def _is_beside(self, other: "LinkRecord") -> bool:
        return other.marker != self.marker and other.outside == self.outside and other.owner_lives()


MARKER = "LONGLOOK_LINK_ID"
"""Environment variable of every process behind a link: the record's marker."""


def open_record() -> LinkRecord:
    """Record this process as a link's owner, make its scratch folder, and release the records of dead owners."""
    marker = secrets.token_hex(3)
    pid = os.getpid()
    scratch = Path(tempfile.gettempdir()) / f"{_PREFIX}{marker}"
    record = LinkRecord(marker, pid, start_ticks(pid) or 0, boot_id(), network_of("self"), str(scratch))
    try:
        _folder().mkdir(parents=True, exist_ok=True)
        for other in _records():
            if not other.owner_lives():
                other.release()
        record.write()
        scratch.mkdir(mode=0o700)
    except OSError as error:
        raise MachineError(
            f"no place for the records of running links: {error}", "export LONGLOOK_CACHE=FOLDER that you may write to"
        ) from error
    return record


def read_record(path: Path) -> LinkRecord | None:
    """Return a record as it is on disk now, or None if there is none."""
    try:
        fields = json.loads(path.read_text())
        fields["forwarding"] = tuple(fields["forwarding"])
        fields["inside"] = tuple(map(int, fields["inside"]))
        fields["helpers"] = tuple((int(pid), int(started)) for pid, started in fields["helpers"])
        record = LinkRecord(**fields)
    except (OSError, ValueError, TypeError, KeyError):
        return None  # gone, or not ours
    return record if path.stem == record.marker else None


def forwards(device: str) -> bool:
    """Return whether packets that arrive at a device of this namespace may leave by another."""
    return _forwarding(device).read_text().strip() != "0"


@contextmanager
def locked() -> Iterator[None]:
    """Hold the lock under which one link at a time chooses addresses and changes settings."""
    with one_at_a_time(_folder() / "lock"):
        yield


def _kill_all_of(inside: int, marker: str) -> None:
    """Kill the processes left in a namespace that is not held open; the marker distinguishes it from a later one."""
    for _ in range(_ATTEMPTS):  # a shell may start its next program between being seen and being killed
        left = {int(name) for name in os.listdir("/proc") if name.isdigit() and _belongs(name, inside, marker)}  # noqa: PTH208
        if not left:
            return
        kill_all(left)
        time.sleep(_POLL_S)


def _belongs(name: str, inside: int, marker: str) -> bool:
    if network_of(name) != inside:
        return False
    with suppress(OSError):
        return f"{MARKER}={marker}".encode() in Path(f"/proc/{name}/environ").read_bytes().split(b"\0")
    return False


def _records() -> list[LinkRecord]:
    return [record for path in sorted(_folder().glob("*.json")) if (record := read_record(path)) is not None]


def _is_inhabited(namespace: int) -> bool:
    return any(name.isdigit() and network_of(name) == namespace for name in os.listdir("/proc"))  # noqa: PTH208


def _forwarding(device: str) -> Path:
    # Per device, and not net.ipv4.ip_forward, which changes every device when it is set and again when it is restored.
    return Path("/proc/sys/net/ipv4/conf") / device / "forwarding"


def _folder() -> Path:
    return paths.state_dir() / "links"
