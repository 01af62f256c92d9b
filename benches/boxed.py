"""Measures the cost of a guest's box for a trial: the same trials in turn, in the box and without any.

Without it a script takes the place of `longlook-box` and becomes the kernel at once, under the user who runs this.
"""

import json
import os
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from benches import virtual
from longlook.engines.virtual import VirtualEngine

TARGETS = {"wall_ms": 10.0, "cpu_s": 0.02}
TURNS, ROUNDS = 4, 10
UNBOXED = """#!/bin/sh
while [ "$1" != -- ]; do
  case $1 in --exchange) exchange=$2;; --report-fd) report=$2;; --memory-folder) memory=$2;; esac
  shift
done
shift
echo '{"layers": {}, "missing": {}}' > "/proc/self/fd/$report"
cd "$exchange" && HOME=$memory TMPDIR=$memory exec setpriv --pdeathsig KILL -- "$@"
"""


def measure() -> dict[str, Any]:
    """Medians over the turns of each turn's median; `added` is what the box adds to them, each with its target."""
    with tempfile.TemporaryDirectory() as place:
        script = Path(place) / "unboxed"
        script.write_text(UNBOXED)
        script.chmod(0o755)
        ways = {"boxed": {}, "unboxed": {"LONGLOOK_BOX": str(script)}}
        turns = [{name: _turn(settings) for name, settings in ways.items()} for _ in range(TURNS)]
    medians = {
        name: {fact: round(statistics.median(turn[name][fact] for turn in turns), 4) for fact in TARGETS}
        for name in ways
    }
    added = {fact: round(medians["boxed"][fact] - medians["unboxed"][fact], 4) for fact in TARGETS}
    return {**medians, "added": added, "turns": TURNS, "targets": TARGETS}


def _turn(settings: dict[str, str]) -> dict[str, float]:
    command = [sys.executable, "-c", "from benches.boxed import print_costs; print_costs()"]
    done = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True, env={**os.environ, **settings})
    costs: dict[str, float] = json.loads(done.stdout.splitlines()[-1])
    return costs


def print_costs() -> None:
    """Print what short trials cost in this process's way: ms of real time, and CPU-s of all their processes."""
    with VirtualEngine() as engine:
        runs = virtual.costs(engine, "h3", "100Mbit", "1KB", repeats=ROUNDS)
    wall_ms = statistics.median(run.wall_s for run in runs) * 1e3
    print(json.dumps({"wall_ms": wall_ms, "cpu_s": statistics.median(run.cpu_s for run in runs)}))
