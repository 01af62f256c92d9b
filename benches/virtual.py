"""Measures the cost of a trial in virtual time: CPU seconds of the whole process tree, wall time, and real time too."""

import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from longlook.core import Engine, Outcome, Plan, Trial, find_metric
from longlook.engines.live import LiveEngine
from longlook.engines.virtual import VirtualEngine
from longlook.pipeline import provide_for
from longlook.run import make_job
from longlook.study import find_study, make_plan
from longlook.timeline import normalise_trial

STUDY = str(Path(__file__).with_name("virtual.toml"))
FIG6A = "kakhki2017-fig6a"
TAB4 = "kakhki2017-tab4"
TARGETS = {
    "overhead_cpu_s": 0.6,
    "7MB_at_1Mbit_wall_s": 2.0,
    "h3_at_100Mbit_cpu_s_per_mb": 0.2,
    "fig6a_empty_cache_s": 240.0,
    "fig6a_full_cache_s": 5.0,
    "compete_1_quic_4_tcp_60s_cpu_s": 12.0,
}


@dataclass(frozen=True)
class Cost:
    """One trial: page load time in its own time, wall and CPU seconds of the host."""

    load_s: float
    wall_s: float
    cpu_s: float


def measure() -> dict[str, Any]:
    """Medians of five trials each; `live` is the same trial in real time, of which CPU covers the laboratory too."""
    with VirtualEngine() as virtual, LiveEngine() as live:
        small = {protocol: costs(virtual, protocol, "100Mbit", "1KB") for protocol in ("h2", "h3")}
        large = costs(virtual, "h3", "100Mbit", "20MB", repeats=3)
        slow = costs(virtual, "h2", "1Mbit", "7MB", repeats=3)
        live_small = costs(live, "h3", "100Mbit", "1KB")
        competition = _contest(virtual)
    # A live trial's processes belong to the agent, which tells of them only when it ends: not compared per MB.
    overhead = {protocol: statistics.median(cost.cpu_s for cost in runs) for protocol, runs in small.items()}
    per_mb = (statistics.median(cost.cpu_s for cost in large) - overhead["h3"]) / 20
    return {
        "overhead": {
            protocol: {
                "cpu_s": round(overhead[protocol], 3),
                "wall_s": round(statistics.median(cost.wall_s for cost in runs), 3),
            }
            for protocol, runs in small.items()
        },
        "overhead_live_wall_s": round(statistics.median(cost.wall_s for cost in live_small), 3),
        "7MB_at_1Mbit": {
            "virtual_s": round(slow[0].load_s, 3),
            "wall_s": round(statistics.median(cost.wall_s for cost in slow), 3),
            "cpu_s": round(statistics.median(cost.cpu_s for cost in slow), 3),
        },
        "h3_at_100Mbit_cpu_s_per_mb": round(per_mb, 4),
        "h3_20MB_at_100Mbit": {
            "virtual_s": round(large[0].load_s, 3),
            "wall_s": round(statistics.median(cost.wall_s for cost in large), 3),
        },
        "compete_1_quic_4_tcp_60s": competition,
        "fig6a": _fig6a(),
        "targets": TARGETS,
    }


def _contest(engine: Engine) -> dict[str, float]:
    """A QUIC flow and four of TCP for 60 s at 5 Mbit/s."""
    plan = make_plan(find_study(TAB4, rounds=3), ["against=4 TCP"])
    runs = run(engine, plan, lambda trial: trial.arm == "quic")
    return {
        "cpu_s": round(statistics.median(cost.cpu_s for cost in runs), 2),
        "wall_s": round(statistics.median(cost.wall_s for cost in runs), 2),
    }


def costs(engine: Engine, protocol: str, rate: str, size: str, repeats: int = 5) -> list[Cost]:
    """Return the cost of each trial of a page, run without the cache; failed trials are left out."""
    changes = {"network.rate": rate, "workload.object": size}
    study = find_study(STUDY, rounds=repeats, changes=changes)
    return run(engine, make_plan(study), lambda trial: trial.protocol == protocol)


def run(engine: Engine, plan: Plan, wanted: Callable[[Trial], bool]) -> list[Cost]:
    """Return the cost of each wanted trial of a plan, run without the cache; failed trials are left out."""
    provisions = provide_for(plan, engine, lambda _text: None)
    costs = []
    with tempfile.TemporaryDirectory() as place:
        for trial in filter(wanted, plan.trials):
            folder = Path(place) / trial.id
            folder.mkdir()
            cpu_s, began = _children_cpu_s(), time.monotonic()
            done = engine.run(make_job(trial, 1, str(folder), provisions))
            wall_s = time.monotonic() - began
            if done.outcome is not Outcome.OK:
                continue
            load_s = find_metric("page_load_time").measure(normalise_trial(folder, trial, done))
            costs.append(Cost(load_s or 0.0, wall_s, _children_cpu_s() - cpu_s))
    return costs


def _fig6a() -> dict[str, float]:
    with tempfile.TemporaryDirectory() as place:
        took: dict[str, float] = {}
        own = {**os.environ, "LONGLOOK_TRIALS": f"{place}/trials"}
        for name in ("empty_cache_s", "full_cache_s"):
            command = [sys.executable, "-m", "longlook", "run", FIG6A, "--out", f"{place}/{name}"]
            began = time.monotonic()
            subprocess.run(command, check=True, stdout=subprocess.DEVNULL, env=own)
            took[name] = round(time.monotonic() - began, 1)
        return took


def _children_cpu_s() -> float:
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime
