"""Measures how long a notebook waits: imports, a run of 3,000 trials as a table, a heatmap; pandas reads beside it."""

import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pandas as pd

import longlook.api as ll
from longlook.core import SAMPLES, RunFolder
from longlook.engines.fake import FakeEngine
from longlook.pipeline import Observer, RunOptions, run_study
from longlook.study import find_study

TRIALS = 3000
REPEATS = 7
TARGETS = {"import_s": 0.05, "open_s": 1.0, "heatmap_s": 2.0}
STUDY = "kakhki2017-fig6a"
"""21 cells, 5 arms: with 29 rounds it has 3,045 trials."""


def measure() -> dict[str, Any]:
    """Medians; the run has made-up trials, as reading them does not depend on what they say."""
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / "run"
        study = find_study(STUDY)
        rounds = -(-TRIALS // (21 * len(study.arms)))
        run_study(replace(study, rounds=rounds), out, RunOptions(FakeEngine()), Observer())
        trials = len(RunFolder.open(out).plan.trials)
        run = ll.open(out)
        return {
            "targets": TARGETS,
            "trials": trials,
            "rows": len(pd.read_parquet(out / SAMPLES)),
            "import_s": _median(lambda: _python("import longlook"), less=_median(lambda: _python("pass"))),
            "import_api_s": _median(
                lambda: _python("import longlook.api as ll; ll.open"), less=_median(lambda: _python("pass"))
            ),
            "open_s": _median(lambda: ll.open(out)),
            "open_and_samples_s": _median(lambda: ll.open(out).samples()),
            "pandas_read_s": _median(lambda: pd.read_parquet(out / SAMPLES)),
            "pandas_read_and_pivot_s": _median(lambda: _pivot(out / SAMPLES)),
            "heatmap_s": _median(lambda: ll.open(out).heatmap()._repr_mimebundle_()),
            "plan_s": _median(lambda: ll.open(out).cells),
            "check_s": _median(run.check),
        }


def _pivot(path: Path) -> pd.DataFrame:
    return pd.read_parquet(path).pivot_table(index=["cell", "arm", "round"], columns="metric", values="value")


def _python(code: str) -> None:
    subprocess.run([sys.executable, "-c", code], check=True)


def _median(call: Callable[[], object], less: float = 0.0) -> float:
    times = []
    for _ in range(REPEATS):
        begun = time.perf_counter()
        call()
        times.append(time.perf_counter() - begun)
    return round(statistics.median(times) - less, 4)
