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
ROUNDS = (2, 12)
STUDY = ("demo", "--only", "client=quic-go", "--only", "10Mbit,5KB", "--around", "none")
POOL = """
import multiprocessing
from concurrent.futures import ProcessPoolExecutor
def make():
    return ProcessPoolExecutor(2, mp_context=multiprocessing.get_context("spawn"))
"""
_WITHIN_S = 120.0


def measure() -> dict[str, Any]:
    """Wall ms and CPU ms that one trial more takes by each way; `added` is beyond `--jobs 2`, each with its target.

    Every turn runs few rounds and many: the difference has no start of anything in it. All trials run, none comes from
    the cache, and none runs again on this machine. CPU time is of all processes.
    """
    with tempfile.TemporaryDirectory() as place, _cluster(Path(place)) as (address, servers):
        Path(place).chmod(0o755)
        Path(place, "bench_pool.py").write_text(POOL)
        ways = {"jobs_2": "local", "dask_2": f"dask:{address}", "processes_2": "futures:bench_pool:make"}
        _costs(Path(place), ways["dask_2"], servers, 1)  # workers get programs and contents
        turns = [{name: _of_one_more(Path(place), way, servers) for name, way in ways.items()} for _ in range(TURNS)]
    medians = {
        name: {fact: round(statistics.median(turn[name][fact] for turn in turns), 1) for fact in turns[0][name]}
        for name in ways
    }
    added = {
        name: {
            "wall_ratio": round(statistics.median(t[name]["wall_ms"] / t["jobs_2"]["wall_ms"] for t in turns), 3),
            "cpu_ms_a_trial": round(statistics.median(t[name]["cpu_ms"] - t["jobs_2"]["cpu_ms"] for t in turns), 1),
        }
        for name in list(ways)[1:]
    }
    return {**medians, "added": added, "turns": TURNS, "rounds": list(ROUNDS), "targets": TARGETS}


def _of_one_more(place: Path, executor: str, servers: list[int]) -> dict[str, float]:
    few, many = (_costs(place, executor, servers, rounds) for rounds in ROUNDS)
    trials = many["trials"] - few["trials"]
    return {f"{fact}_ms": 1e3 * (many[f"{fact}_s"] - few[f"{fact}_s"]) / trials for fact in ("wall", "cpu")}


def _costs(place: Path, executor: str, servers: list[int], rounds: int) -> dict[str, float]:
    out = Path(tempfile.mkdtemp(dir=place)) / "run"
    command = (sys.executable, "-m", "longlook", "run", *STUDY, "--no-cache", "--rounds", str(rounds))
    where = ("--jobs", str(JOBS), "--executor", executor)
    share = () if executor == "local" else ("--check-workers", "0%")
    before_s = sum(map(cpu_of_tree, servers)) + _children_s()
    began_s = time.monotonic()
    subprocess.run([*command, *where, *share, "--out", str(out)], check=True, stdout=subprocess.DEVNULL, cwd=place)
    wall_s = time.monotonic() - began_s
    cpu_s = sum(map(cpu_of_tree, servers)) + _children_s() - before_s
    return {"wall_s": wall_s, "cpu_s": cpu_s, "trials": json.loads((out / "manifest.json").read_text())["trials"]}


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
