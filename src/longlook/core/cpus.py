"""The CPUs of this process, and the processors that endpoints are given in virtual time."""

import os
from collections.abc import Mapping
from dataclasses import fields
from fractions import Fraction

from longlook.core import units
from longlook.core.model import Processor

OFF = "off"
"""The text of a processor on which computing costs no time."""

COSTS: Mapping[str, str] = {
    "call": "call_ns",
    "wake": "wake_ns",
    "datagram": "datagram_ns",
    "packet": "packet_ns",
    "kilobyte": "byte_ps",  # 1 ns a kilobyte is 1 ps a byte
}
"""Name of a cost in a text → field of Processor."""


def usable_cpus() -> list[int]:
    """Return the numbers of the CPUs that this process may use, in order: affinity masks and cpusets count."""
    return sorted(os.sched_getaffinity(0))


def times(processor: Processor, factor: Fraction) -> Processor:
    """Return a processor on which everything takes `factor` times as long, to the nearest unit."""
    return Processor(**{field.name: round(getattr(processor, field.name) * factor) for field in fields(processor)})


def text_of(processor: Processor) -> str:
    """Return costs as people write them, in canonical form."""
    costs = {name: getattr(processor, field) for name, field in COSTS.items()}
    return ", ".join(f"{name} {units.print_time(cost)}" for name, cost in costs.items() if cost) or OFF
