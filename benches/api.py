"""Measures what a notebook waits for: imports, a run of 3,000 trials as a table, a heatmap; pandas reads the same."""

import os
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pandas as pd

import longlook.api as ll
from longlook.core import SAMPLES, RunFolder
from longlook.engines.fake import FakeEngine
from longlook.pipeline import Observer, RunOptions, run_study
from longlook.report.charts.export import to_svg
from longlook.study import find_study

TRIALS = 3000
REPEATS = 7
TARGETS = {"import_cpu_s": 0.05, "open_cpu_s": 1.0, "heatmap_cpu_s": 2.0}
STUDY = "kakhki2017-fig6a"
"""Its 21 cells and 6 arms have 3,024 trials in 24 rounds."""


def measure() -> dict[str, Any]:
    """CPU seconds, medians; the run has made-up trials, as reading them does not depend on what they say."""
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / "run"
        study = find_study(STUDY)
        rounds = -(-TRIALS // (21 * len(study.arms)))
        run_study(replace(study, rounds=rounds), out, RunOptions(FakeEngine()), Observer())
        trials = len(RunFolder.open(out).plan.trials)
        return {
            "targets": TARGETS,
            "trials": trials,
            "rows": len(pd.read_parquet(out / SAMPLES)),
            "import_cpu_s": _median(lambda: _python("import longlook"), less=_median(lambda: _python("pass"))),
            "import_api_cpu_s": _median(
                lambda: _python("import longlook.api as ll; ll.open"), less=_median(lambda: _python("pass"))
            ),
            "open_cpu_s": _median(lambda: ll.open(out)),
            "open_and_samples_cpu_s": _median(lambda: ll.open(out).samples()),
            "pandas_read_cpu_s": _median(lambda: pd.read_parquet(out / SAMPLES)),
            "pandas_read_and_pivot_cpu_s": _median(lambda: _pivot(out / SAMPLES)),
            "heatmap_cpu_s": round(_cpu_s(lambda: to_svg(ll.open(out).heatmap("quic vs tcp").chart)), 4),
            "cells_cpu_s": _median(lambda: ll.open(out).cells),
        }


def _pivot(path: Path) -> pd.DataFrame:
    return pd.read_parquet(path).pivot_table(index=["cell", "arm", "round"], columns="metric", values="value")


def _python(code: str) -> None:
    subprocess.run([sys.executable, "-c", code], check=True)


def _median(call: Callable[[], object], less: float = 0.0) -> float:
    return round(statistics.median(_cpu_s(call) for _ in range(REPEATS)) - less, 4)


def _cpu_s(call: Callable[[], object]) -> float:
    """Return the CPU seconds of a call and of programs that it starts: other work on the machine does not count."""
    begun = sum(os.times()[:4])
    call()
    return sum(os.times()[:4]) - begun
