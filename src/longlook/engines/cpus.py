"""One CPU for each guest: it is one thread of work, and moving it between CPUs costs several times its own time."""

import fcntl
import itertools
import os
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager

from longlook import paths

_turn = itertools.count()


@contextmanager
def one_cpu() -> Iterator[int]:
    """The number of a CPU that no other guest of this user has; when all are taken, one of them in turn."""
    available = sorted(os.sched_getaffinity(0))
    folder = paths.state_dir()
    folder.mkdir(parents=True, exist_ok=True)
    with ExitStack() as held:
        for cpu in available:
            lock = held.enter_context((folder / f"cpu-{cpu}.lock").open("w"))
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                continue
            yield cpu
            return
        yield available[next(_turn) % len(available)]


@contextmanager
def on_cpu(cpu: int) -> Iterator[None]:
    """Children that this thread starts in the block run on that CPU alone."""
    before = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {cpu})
    try:
        yield
    finally:
        os.sched_setaffinity(0, before)
