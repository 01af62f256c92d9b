"""The boxes of a flame graph: every function by its callers, as wide as the CPU time spent in it and below it. Pure."""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from longlook.core import KERNEL
from longlook.timeline import Work, work_of

LEAST_SHARE = 0.01
"""Boxes narrower than this share of the whole are left out."""

_HASH = re.compile(r"::h[0-9a-f]{16}$")


@dataclass(frozen=True)
class FlameBox:
    """One function in one place. `start` and `end` are CPU seconds from the left, `depth` counts from the outermost."""

    name: str
    depth: int
    start: float
    end: float
    work: Work  # what most of its time was spent on


@dataclass
class _Node:
    below: dict[str, "_Node"] = field(default_factory=dict)
    by_work: dict[Work, float] = field(default_factory=lambda: dict.fromkeys(Work, 0.0))  # CPU seconds

    @property
    def total(self) -> float:
        return sum(self.by_work.values())


def boxes_of(stacks: Iterable[tuple[str, float]], least_share: float = LEAST_SHARE) -> list[FlameBox]:
    """Return the boxes of folded stacks with their CPU seconds, outermost first, callees in alphabetical order.

    A function that calls itself has one box for all its calls in a row.
    """
    root = _Node()
    for stack, cpu_s in stacks:
        frames = stack.split(";")
        work, node = work_of(frames[1:]), root
        node.by_work[work] += cpu_s
        previous = ""
        for name in frames:
            if name != previous:
                node = node.below.setdefault(name, _Node())
                node.by_work[work] += cpu_s
            previous = name
    return list(_below(root, 0, 0.0, least_share * root.total))


def _below(node: _Node, depth: int, start: float, least: float) -> Iterator[FlameBox]:
    for name, child in sorted(node.below.items()):
        end = start + child.total
        if child.total >= least > 0:
            work = max(Work, key=child.by_work.__getitem__)
            yield FlameBox(name, depth, start, end, work)
            yield from _below(child, depth + 1, start, least)
        start = end


def short_name(name: str) -> str:
    """Return a function's name without the path of its package, the hash of a Rust symbol and the kernel's mark."""
    plain = _HASH.sub("", name.removesuffix(KERNEL))
    if plain.startswith(("<", "[")) or "::" in plain:
        return plain
    return plain.rpartition("/")[2] or plain
