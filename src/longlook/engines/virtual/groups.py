"""Control groups that bound what a guest takes of the host: its processes, and its memory beyond that of the guest.

A group needs a hierarchy that can be written. Its name has its maker's pid and start, by which the next one finds and
removes what a killed process left.
"""

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

from longlook.lab.stale_state import boot_id, is_same_process, start_ticks

ROOT = Path("/sys/fs/cgroup")
_PREFIX = "longlook-guest-"
_CONTROLLERS = ("pids", "memory")


@contextmanager
def bounded(number: int, memory_bytes: int, tasks: int, root: Path = ROOT) -> Iterator[tuple[Path, ...]]:
    """Make the groups of a guest and yield their folders, none where that is not possible; remove them afterwards.

    `number` distinguishes the guests of this process.
    """
    limits = {"pids.max": tasks, "memory.max": memory_bytes, "memory.limit_in_bytes": memory_bytes}
    groups = []
    try:
        for parent in parents(root):
            group = parent / f"{_PREFIX}{os.getpid()}-{start_ticks(os.getpid())}-{number}"
            group.mkdir(exist_ok=True)
            groups.append(group)
            for name, limit in limits.items():
                if (group / name).exists():
                    (group / name).write_text(str(limit))
    except OSError:  # not ours to write
        _remove(groups)
        groups = []
    try:
        yield tuple(groups)
    finally:
        _remove(groups)


def ran_out_of_memory(groups: Sequence[Path]) -> bool:
    """Return whether the kernel ended a process of the groups because they had taken too much."""
    for group in groups:
        for name in ("memory.events", "memory.oom_control"):
            with suppress(OSError):
                counts = dict(line.split() for line in (group / name).read_text().splitlines())
                if int(counts.get("oom_kill", 0)) > 0:
                    return True
    return False


def parents(root: Path = ROOT) -> list[Path]:
    """Return the folders in which groups with a limit of processes and of memory can be made, one or two; else none."""
    own = dict(_own_groups())
    if all((root / name).is_dir() for name in _CONTROLLERS):  # version 1: a hierarchy for each
        return [_existing(root / name, own.get(name, "/")) for name in _CONTROLLERS]
    for folder in (_existing(root, own.get("", "/")), root):
        with suppress(OSError):
            if set(_CONTROLLERS) <= set((folder / "cgroup.subtree_control").read_text().split()):
                return [folder]
    return []


def clear(root: Path = ROOT) -> None:
    """Remove the groups of processes that are gone."""
    for parent in parents(root):
        for group in parent.glob(f"{_PREFIX}*"):
            pid, started, _ = group.name.removeprefix(_PREFIX).split("-")
            if not is_same_process(int(pid), int(started), boot_id()):
                _remove([group])


def _own_groups() -> Iterator[tuple[str, str]]:
    for line in Path("/proc/self/cgroup").read_text().splitlines():
        _, controllers, place = line.split(":", maxsplit=2)
        for name in controllers.split(","):
            yield name, place


def _existing(hierarchy: Path, place: str) -> Path:
    group = hierarchy / place.lstrip("/")
    return group if (group / "cgroup.procs").exists() else hierarchy


def _remove(groups: Sequence[Path]) -> None:
    for group in groups:
        with suppress(OSError):  # a process of it is not gone yet: the next start removes it
            group.rmdir()
