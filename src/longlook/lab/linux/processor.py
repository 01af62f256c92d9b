"""Declares the processor of an endpoint to a guest's kernel, and reads what its work has cost
(docs/explanation/processors.md)."""

from dataclasses import fields
from pathlib import Path

from longlook.core import Processor
from longlook.lab.linux.namespace import Namespace

_FOLDER = Path("/proc/sys/net/endpoint_cpu")
FREE = Processor()


def declare(namespace: Namespace, processor: Processor) -> None:
    """Let the work of programs in this namespace, and of its kernel, cost time from now on; FREE: none."""
    with namespace.inside():
        for field in fields(processor):
            (_FOLDER / field.name).write_text(str(getattr(processor, field.name)))


def busy_s(namespace: Namespace) -> float:
    """Return the seconds that the endpoint's processor has worked so far, for programs and the kernel together."""
    with namespace.inside():
        return sum(int((_FOLDER / name).read_text()) for name in ("program_ns", "kernel_ns")) / 1e9


def dropped(namespace: Namespace) -> int:
    """Return the packets that the kernel has dropped so far, because too many waited for the processor."""
    with namespace.inside():
        return int((_FOLDER / "dropped").read_text())
