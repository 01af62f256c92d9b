"""Measures the cost of a trial with a proxy in virtual time, next to the same transfer over one link and over two."""

import statistics
from pathlib import Path
from typing import Any

from benches import virtual
from longlook.core import Plan
from longlook.engines.virtual import VirtualEngine
from longlook.study import find_study, make_plan

STUDY = str(Path(__file__).with_name("proxied.toml"))
TARGETS = {"of_direct": 1.6}
SIZES = ("1KB", "5MB")
TURNS = 3
PROTOCOLS = {"tcp": "h2", "tcp-split": "h2", "quic": "h3", "quic-ended": "h3"}
"""The arms of the study by the protocol of the trial over one link that each is compared with."""


def measure() -> dict[str, Any]:
    """Medians of wall and CPU seconds by size and arm, in turns; `of_direct` is the ratio to a trial over one link."""
    with VirtualEngine() as engine:
        return {"sizes": {size: _of_size(engine, size) for size in SIZES}, "turns": TURNS, "targets": TARGETS}


def _of_size(engine: VirtualEngine, size: str) -> dict[str, Any]:
    changes = {"workload.object": size}
    whole = make_plan(find_study(virtual.STUDY, rounds=1, changes={**changes, "network.rate": "50Mbit",
                                                                   "network.rtt": "80ms"}))  # fmt: skip
    halves = make_plan(find_study(STUDY, rounds=1, changes=changes))
    spent: dict[str, list[virtual.Cost]] = {}
    for _ in range(TURNS):
        for protocol in ("h2", "h3"):
            spent.setdefault(protocol, []).extend(_of_protocol(engine, whole, protocol))
        for arm in PROTOCOLS:
            spent.setdefault(arm, []).extend(_of_arm(engine, halves, arm))
    found = {name: _medians(costs) for name, costs in spent.items()}
    for arm, protocol in PROTOCOLS.items():
        found[arm]["of_direct"] = round(found[arm]["cpu_s"] / found[protocol]["cpu_s"], 2)
    return found


def _of_protocol(engine: VirtualEngine, plan: Plan, protocol: str) -> list[virtual.Cost]:
    return virtual.run(engine, plan, lambda trial: trial.protocol == protocol)


def _of_arm(engine: VirtualEngine, plan: Plan, arm: str) -> list[virtual.Cost]:
    return virtual.run(engine, plan, lambda trial: trial.arm == arm)


def _medians(costs: list[virtual.Cost]) -> dict[str, float]:
    return {
        "load_s": round(costs[0].load_s, 3),
        "wall_s": round(statistics.median(cost.wall_s for cost in costs), 3),
        "cpu_s": round(statistics.median(cost.cpu_s for cost in costs), 3),
    }
