"""Measures the cost of an executor: the same trials by `--jobs 2`, by two Dask workers and by a pool of two processes.

Ways take turns. The scheduler and the workers of Dask run before the first turn; a pool's processes start in each turn.
"""

import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from longlook.core.processes import cpu_of_tree

TARGETS = {"wall_ratio": 1.10, "cpu_ms_a_trial": 20.0}
TURNS, JOBS = 3, 2
STUDY = ("kakhki2017-fig6a", "--only", "contrast=quic vs tcp", "--only", "rate=10Mbit", "--around", "none")
POOL = """
import multiprocessing
from concurrent.futures import ProcessPoolExecutor
def make():
    return ProcessPoolExecutor(2, mp_context=multiprocessing.get_context("spawn"))
"""
_WITHIN_S = 120.0


def measure() -> dict[str, Any]:
    """Wall s, CPU s and CPU ms a trial of each way; what each executor adds to `--jobs 2`, with its target.

    All trials run, none comes from the cache, and none runs again on this machine. CPU s are of all processes.
    """
    with tempfile.TemporaryDirectory() as place, _cluster(Path(place)) as (address, servers):
        Path(place).chmod(0o755)
        Path(place, "bench_pool.py").write_text(POOL)
        ways = {"jobs_2": "local", "dask_2": f"dask:{address}", "processes_2": "futures:bench_pool:make"}
        turns: list[dict[str, dict[str, float]]] = []
        _turn(Path(place), "warm", ways["dask_2"], servers)  # workers get programs and contents
        for number in range(TURNS):
            turns.append({name: _turn(Path(place), f"{name}{number}", way, servers) for name, way in ways.items()})
    medians = {
        name: {fact: round(statistics.median(turn[name][fact] for turn in turns), 3) for fact in turns[0][name]}
        for name in ways
    }
    added = {
        name: {
            "wall_ratio": round(statistics.median(t[name]["wall_s"] / t["jobs_2"]["wall_s"] for t in turns), 3),
            "cpu_ms_a_trial": round(
                statistics.median(t[name]["cpu_ms_a_trial"] - t["jobs_2"]["cpu_ms_a_trial"] for t in turns), 1
            ),
        }
        for name in list(ways)[1:]
    }
    return {**medians, "added": added, "turns": TURNS, "targets": TARGETS}


def _turn(place: Path, name: str, executor: str, servers: list[int]) -> dict[str, float]:
    out = place / name
    command = (sys.executable, "-m", "longlook", "run", *STUDY, "--no-cache", "--executor", executor)
    share = () if executor == "local" else ("--check-workers", "0%")
    before = sum(map(cpu_of_tree, servers)) + _children_s()
    began_s = time.monotonic()
    subprocess.run(
        [*command, *share, "--jobs", str(JOBS), "--out", str(out)], check=True, stdout=subprocess.DEVNULL, cwd=place
    )
    wall_s = time.monotonic() - began_s
    cpu_s = sum(map(cpu_of_tree, servers)) + _children_s() - before
    trials = json.loads((out / "manifest.json").read_text())["trials"]
    return {"wall_s": wall_s, "cpu_s": cpu_s, "cpu_ms_a_trial": 1e3 * cpu_s / trials, "trials": trials}


def _children_s() -> float:
    used = os.times()
    return used.children_user + used.children_system


@contextmanager
def _cluster(place: Path) -> Iterator[tuple[str, list[int]]]:
    """Start a scheduler and two workers of one thread each; yield its address and their process ids."""
    file = place / "scheduler.json"
    host = ("--host", "127.0.0.1", "--no-dashboard")
    started = [
        subprocess.Popen(
            [sys.executable, "-m", "distributed.cli.dask_scheduler", *host, "--port", "0", "--scheduler-file", file],
            stderr=subprocess.DEVNULL,
        )
    ]
    try:
        end_s = time.monotonic() + _WITHIN_S
        while not (file.exists() and file.read_text().endswith("}")):
            if time.monotonic() > end_s:
                raise SystemExit("Dask's scheduler does not start")
            time.sleep(0.1)
        address = json.loads(file.read_text())["address"]
        worker = (sys.executable, "-m", "distributed.cli.dask_worker", address, "--nthreads", "1", "--no-nanny")
        for number in range(JOBS):
            folder = str(place / f"dask{number}")
            started.append(subprocess.Popen([*worker, *host, "--local-directory", folder], stderr=subprocess.DEVNULL))
        yield address, [process.pid for process in started]
    finally:
        for process in reversed(started):
            process.terminate()
            process.wait()
