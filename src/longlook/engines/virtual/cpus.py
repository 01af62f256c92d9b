"""Pins each guest to one CPU: it is one thread of work, and moving it between CPUs costs several times its own time."""

import itertools
import os
import socket
from collections.abc import Iterator
from contextlib import contextmanager

from longlook.core import usable_cpus

_turn = itertools.count()


@contextmanager
def one_cpu() -> Iterator[int]:
    """Yield the number of a CPU that no other guest on this machine has; when all are taken, each one in turn."""
    available = usable_cpus()
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
    """Make children that this thread starts in the block run on one CPU alone."""
    before = usable_cpus()
    os.sched_setaffinity(0, {cpu})
    try:
        yield
    finally:
        os.sched_setaffinity(0, before)
