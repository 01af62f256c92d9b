"""One CPU for each guest: it is one thread of work, and moving it between CPUs costs several times its own time."""

import itertools
import os
import socket
from collections.abc import Iterator
from contextlib import contextmanager

_turn = itertools.count()


@contextmanager
def one_cpu() -> Iterator[int]:
    """The number of a CPU that no other guest has, of whatever study or cache; when all are taken, one in turn."""
    available = sorted(os.sched_getaffinity(0))
    with socket.socket(socket.AF_UNIX) as claim:
        for cpu in available:
            try:
                claim.bind(f"\0longlook-cpu-{cpu}")  # a name that ends with its holder and leaves no file
            except OSError:
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
