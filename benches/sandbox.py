"""Measures the cost for a trial of confining the programs under test: Longlook against a copy that confines nothing.

Both run the same trials in turn, in processes of their own. The copy's programs start as root, with the whole view of
the host, no filter of system calls and no limits of the kernel's; what programs print and keep is limited in both.
"""

import json
import os
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from benches import overhead, virtual
from longlook.engines.virtual import VirtualEngine

TARGETS = {"live_ms": 20.0, "virtual_cpu_s": 0.02}
PHASES = ("setup", "measure", "teardown")
FACTS = (*TARGETS, *(f"live_{phase}_ms" for phase in PHASES))
TURNS = 4
LIVE_ROUNDS, VIRTUAL_ROUNDS = 15, 10
ROOT = Path(__file__).resolve().parents[1]

UNCONFINED = """
from collections import namedtuple

from longlook.lab.linux import system

Spawn = namedtuple("Spawn", ["argv", "descriptors"], defaults=[()])
Started = namedtuple("Started", ["pid", "compartment", "room"], defaults=[None])


class Confinement:
    user = None

    def __init__(self, **parts):
        self.view = parts["view"]

    def give(self, *paths):
        pass

    def prepare(self, network):
        pass

    def close(self):
        pass

    def start(self, argv, spawn, network):
        with system.inside(network):
            return Started(spawn(Spawn(argv)), None)
"""


def measure() -> dict[str, Any]:
    """Medians over the turns of each turn's median; `added` is what confining adds to them, each with its target."""
    (ROOT / "runs").mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory(dir=ROOT / "runs") as place:  # not below /tmp, which programs do not see
        copy = Path(place)
        copy.chmod(0o755)
        for entry in ROOT.iterdir():
            if entry.name != "src":
                (copy / entry.name).symlink_to(entry)
        subprocess.run(["cp", "-a", str(ROOT / "src"), str(copy / "src")], check=True)
        (copy / "src/longlook/lab/linux/confine.py").write_text(UNCONFINED)
        turns = [{name: _turn(root) for name, root in (("confined", ROOT), ("unconfined", copy))} for _ in range(TURNS)]
    medians = {
        name: {fact: round(statistics.median(turn[name][fact] for turn in turns), 4) for fact in FACTS}
        for name in ("confined", "unconfined")
    }
    added = {fact: round(medians["confined"][fact] - medians["unconfined"][fact], 4) for fact in FACTS}
    return {**medians, "added": added, "turns": TURNS, "targets": TARGETS}


def _turn(root: Path) -> dict[str, float]:
    own = {**os.environ, "PYTHONPATH": f"{root / 'src'}:{ROOT}"}
    command = [sys.executable, "-c", "from benches.sandbox import print_costs; print_costs()"]
    done = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True, env=own)
    costs: dict[str, float] = json.loads(done.stdout.splitlines()[-1])
    return costs


def print_costs() -> None:
    """Print what trials of this process's Longlook cost beside their transfers: ms in real time, CPU-s in virtual."""
    live = overhead.measure("quic-go", LIVE_ROUNDS)
    with VirtualEngine() as engine:
        runs = virtual.costs(engine, "h3", "100Mbit", "1KB", repeats=VIRTUAL_ROUNDS)
    phases = {f"live_{phase}_ms": live[f"{phase}_s_median"] * 1e3 for phase in PHASES}
    cpu_s = statistics.median(run.cpu_s for run in runs)
    print(json.dumps({"live_ms": live["overhead_s_median"] * 1e3, "virtual_cpu_s": cpu_s, **phases}))
