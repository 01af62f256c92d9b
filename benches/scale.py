"""Measures how planning, a dry run, the analysis and the report grow with the cells of a study.

No trial runs: their values are drawn. Every stage stands beside itself with a tenth of the cells, so that a growth well
above 10 shows a stage that grows faster than its input. Each size has a process of its own, whose peak memory counts.
"""

import json
import random
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from unittest.mock import patch

from longlook.analysis import MeasuredAttempt
from longlook.core import Outcome, Plan, Run, RunFolder, Study
from longlook.pipeline import Observer, analyse, analyse_run
from longlook.study import find_study, make_plan

TARGETS = {"plan_100000_trials_cpu_s": 10, "plan_100000_trials_mb": 500, "page_mb": 5}
SIZES = {"100 cells": (100, 10), "1,000 cells": (1000, 10), "10,000 cells": (10_000, 10), "100,000 trials": (1000, 50)}
"""Cells, and rounds of two arms each. The last is only planned."""

_STUDY = """schema = 1
title = "A large grid"
question = "How do the stages grow?"
source = "benches/scale.py"
rounds = {rounds}
seed = 1
timeout = "30s"
metrics = ["page_load_time"]
losses = "sampled"
contrasts = [["tcp", "quic"]]
factors = [
  {{ name = "rate", sets = "network.rate", levels = {rates} }},
  {{ name = "size", sets = "workload.object", levels = {sizes} }},
]
defaults = {{ server = "quic-go@0.65.0+knobs", client = "quic-go@0.65.0+knobs" }}
workload = {{ kind = "page", objects = 1 }}
network = {{ rtt = "36ms", queue = "1bdp" }}
arms.tcp = {{ protocol = "h2", connection = "resumed", tcp = "stock" }}
arms.quic = {{ protocol = "h3", connection = "0rtt" }}
"""


def measure() -> dict[str, Any]:
    """Measure each size in a process of its own; CPU seconds, peak megabytes, and bytes of what is written."""
    sizes = {name: _measured(name) for name in SIZES}
    small, large = sizes["1,000 cells"], sizes["10,000 cells"]
    growth = {stage: round(large[stage] / small[stage], 1) for stage in small if stage.endswith("_cpu_s")}
    return {"targets": TARGETS, "sizes": sizes, "growth_of_tenfold_cells": growth}


def _measured(name: str) -> dict[str, float]:
    done = subprocess.run([sys.executable, "-m", "benches.scale", name], stdout=subprocess.PIPE, text=True, check=True)
    found: dict[str, float] = json.loads(done.stdout.splitlines()[-1])
    return found


def _stages(cells: int, rounds: int, *, planned_only: bool) -> dict[str, float]:
    found: dict[str, float] = {}
    with tempfile.TemporaryDirectory() as scratch:
        file = Path(scratch) / "grid.toml"
        side = round(cells**0.5)
        rates = [f"{10 + step}Mbit" for step in range(cells // side)]
        file.write_text(_STUDY.format(rounds=rounds, rates=rates, sizes=[f"{10 + step}KB" for step in range(side)]))
        with _timed(found, "read"):
            study = find_study(str(file))
        with _timed(found, "plan"):
            plan = make_plan(study, most=10**6)
        found |= {"trials": len(plan.trials), "plan_mb": _peak_mb()}
        if planned_only:
            return found
        run = Path(scratch) / "run"
        with _timed(found, "create"):
            folder = RunFolder.create(run, study, plan, _manifest(study, plan))
        with _timed(found, "open"):
            folder = RunFolder.open(run)
            if len(folder.plan.trials) != len(plan.trials):
                raise RuntimeError("the plan was not read as it was written")
        measured = _drawn(plan)
        with _timed(found, "analyse_and_report"), patch.object(analyse, "measure", return_value=measured):
            page = analyse_run(folder, Observer()).report
        found["page_mb"] = round(page.stat().st_size / 1e6, 2)
        found["plan_file_mb"] = round((run / "plan.json").stat().st_size / 1e6, 2)
        found["samples_mb"] = round((run / "samples.parquet").stat().st_size / 1e6, 2)
        found["peak_mb"] = _peak_mb()
    return found


@contextmanager
def _timed(found: dict[str, float], stage: str) -> Iterator[None]:
    began_s = time.process_time()
    yield
    found[f"{stage}_cpu_s"] = round(time.process_time() - began_s, 2)
    sys.stderr.write(f"  {stage} {found[f'{stage}_cpu_s']} s of CPU\n")


def _peak_mb() -> float:
    return round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e3, 0)


def _manifest(study: Study, plan: Plan) -> Mapping[str, Any]:
    return {
        "study": study.id,
        "plan_hash": plan.hash,
        "trials": len(plan.trials),
        "engine": "virtual",
        "settings": {},
        "command": "longlook run",
        "programs": {},
        "host": {},
        "started_unix_s": 0,
    }


def _drawn(plan: Plan) -> list[MeasuredAttempt]:
    draw = random.Random(1)
    return [
        MeasuredAttempt(
            trial,
            Run(trial.id, Outcome.OK, None, None, 1, "virtual", 0, 0.0, 0.1, 0.0, {}, {}, {}, {}, {}, exact=True),
            {"page_load_time": draw.uniform(0.9, 1.1) * (1.2 if trial.arm == "tcp" else 1.0)},
        )
        for trial in plan.trials
    ]


if __name__ == "__main__":
    size = sys.argv[1]
    sys.stdout.write(json.dumps(_stages(*SIZES[size], planned_only=size == "100,000 trials")) + "\n")
