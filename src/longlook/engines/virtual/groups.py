"""Control groups that bound what a guest takes of the host: its processes, and its memory beyond the guest's memory.

Their names have their maker's pid and start, by which the next one finds and removes what a killed process left.
"""

import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress

from longlook.lab import MEMORY, TASKS, Controllers, LimitGroup, boot_id, is_same_process, own_controllers, start_ticks

_PREFIX = "longlook-guest-"


@contextmanager
def bounded(
    number: int, memory_bytes: int, tasks: int, controllers: Controllers | None = None
) -> Iterator[LimitGroup | None]:
    """Make the group of a guest and yield it, None if processes and memory cannot both be bounded; then remove it.

    `number` distinguishes the guests of this process.
    """
    available = own_controllers() if controllers is None else controllers
    name = f"{_PREFIX}{os.getpid()}-{start_ticks(os.getpid())}-{number}"
    both = {TASKS, MEMORY} <= set(available.folders)
    group = available.make(name, tasks, memory_bytes) if both else None
    try:
        yield group
    finally:
        if group is not None:
            group.close()


def clear(controllers: Controllers | None = None) -> None:
    """Remove the groups of processes that are gone."""
    available = own_controllers() if controllers is None else controllers
    for parent in set(available.folders.values()):
        for group in parent.glob(f"{_PREFIX}*"):
            pid, started, _ = group.name.removeprefix(_PREFIX).split("-")
            if not is_same_process(int(pid), int(started), boot_id()):
                with suppress(OSError):  # a process of it is not gone yet: the next start removes it
                    group.rmdir()
