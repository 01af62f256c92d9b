"""Measures the cost for a guest of running programs safely: our kernel's seccomp against ptrace, which upstream calls
safe.

Both run the same trials in turn with the same kernel. The results are the same to the bit; CPU seconds are compared.
"""

import statistics
from dataclasses import replace
from typing import Any
from unittest import mock

from benches import virtual
from longlook.engines.virtual import VirtualEngine, probe

SIZES = ("1KB", "1MB")
TURNS, ROUNDS = 3, 3
TARGETS = {"seccomp_of_ptrace": 1.0}


def measure() -> dict[str, Any]:
    """Median CPU seconds of a trial by object size, and the ratio of the two ways."""
    found: dict[str, Any] = {"turns": TURNS, "targets": TARGETS}
    for size in SIZES:
        turns = [{way: _cpu_s(way, size) for way in ("seccomp", "ptrace")} for _ in range(TURNS)]
        medians = {way: round(statistics.median(turn[way] for turn in turns), 3) for way in ("seccomp", "ptrace")}
        ratio = statistics.median(turn["seccomp"] / turn["ptrace"] for turn in turns)
        found[size] = {f"{way}_cpu_s": cpu_s for way, cpu_s in medians.items()} | {"seccomp_of_ptrace": round(ratio, 3)}
    return found


def _cpu_s(way: str, size: str) -> float:
    guest = replace(probe.find_guest(), userspace=way)
    with mock.patch("longlook.engines.virtual.find_guest", lambda: guest), VirtualEngine() as engine:
        runs = virtual.costs(engine, "h3", "100Mbit", size, repeats=ROUNDS)
    return statistics.median(run.cpu_s for run in runs)
