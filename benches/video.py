"""Measures the cost of a minute of play in virtual time, at hd720 over 8 Mbit/s, next to a download
of the same bytes.
"""

import statistics
from typing import Any

from benches import virtual
from longlook.core import Plan
from longlook.engines.virtual import VirtualEngine
from longlook.study import find_study, make_plan

STUDY, CELL = "langley2017-table3-video", ["country=South Korea", "quality=hd720"]
ROUNDS = 3
ARMS = ("tcp", "quic")
BYTES = 18_900_000
"""The most bytes that a player has after a minute: 84 s of 1.8 Mbit/s, its buffer included."""
TARGETS = {"wall_s": 3.0}


def measure() -> dict[str, Any]:
    """Medians of wall and CPU seconds of plays, by arm, and of downloads of as many bytes over the same rate."""
    plays = make_plan(find_study(STUDY, rounds=ROUNDS), CELL)
    changes = {
        "network.rate": "8Mbit",
        "network.rtt": "38ms",
        "network.down.loss": "1%",
        "workload.object": f"{BYTES}B",
    }
    downloads = make_plan(find_study(virtual.STUDY, rounds=ROUNDS, changes=changes))
    with VirtualEngine() as engine:
        return {
            "play": {arm: _costs(engine, plays, arm) for arm in ARMS},
            "download": {arm: _costs(engine, downloads, arm) for arm in ARMS},
            "targets": TARGETS,
        }


def _costs(engine: VirtualEngine, plan: Plan, arm: str) -> dict[str, float]:
    spent = virtual.run(engine, plan, lambda trial: trial.arm == arm)
    return {
        "trials": len(spent),
        "wall_s": round(statistics.median(cost.wall_s for cost in spent), 2),
        "cpu_s": round(statistics.median(cost.cpu_s for cost in spent), 2),
    }
