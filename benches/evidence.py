"""Measures the cost of checking the seals of 420 trials, in run folders and in the cache, with files in memory."""

import json
import shutil
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from longlook.core import ContentStore, RunFolder
from longlook.engines.virtual import VirtualEngine
from longlook.pipeline import Observer, RunOptions, sample_study
from longlook.study import find_study

TARGET_S = 1.0
COPIES = 21  # of 20 trials, as many as kakhki2017-fig6a has
REPEATS = 5


def measure() -> dict[str, Any]:
    """The fastest of some repeats: what else the machine does makes all of them slower."""
    with tempfile.TemporaryDirectory() as scratch:
        root = Path(scratch)
        only = ("client=quic-go", "size=1MB", "rate=100Mbit")
        sample_study(find_study("demo"), root / "0", RunOptions(VirtualEngine(), only=only), Observer())
        runs = [root / "0", *(Path(shutil.copytree(root / "0", root / str(number))) for number in range(1, COPIES))]
        store = ContentStore(root / "cache")
        trials = [trial for run in runs for trial in sorted((run / "trials").iterdir())]
        keys = [f"{number:04}" for number in range(len(trials))]
        for key, trial in zip(keys, trials, strict=True):
            store.keep(key, trial, [path.name for path in trial.iterdir()])
        files = [path for trial in trials for path in trial.iterdir()]
        return {
            "target_s": TARGET_S,
            "trials": len(trials),
            "files": len(files),
            "megabytes": round(sum(path.stat().st_size for path in files) / 1e6, 1),
            "run_folders_s": _fastest(lambda: [_check(run) for run in runs]),
            "cache_s": _fastest(lambda: [store.read(key, lambda _entry: True) for key in keys]),
            "cache_to_run_folder_s": _fastest(lambda: [store.lay(key, None, root / "laid" / key) for key in keys]),
        }


def _check(run: Path) -> int:
    folder = RunFolder.open(run)
    names = [trial["id"] for trial in json.loads((run / "plan.json").read_text())["trials"]]
    if altered := folder.altered(names):
        raise RuntimeError(f"copies of a run were altered: {altered}")
    return len(names)


def _fastest(call: Callable[[], object]) -> float:
    taken_s = []
    for _ in range(REPEATS):
        begun = time.perf_counter()
        call()
        taken_s.append(time.perf_counter() - begun)
    return round(min(taken_s), 3)
