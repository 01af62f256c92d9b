"""Measures what asking a run about 10,000 users costs; a plain bootstrap over the same users is the peer."""

import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from longlook.analysis import AnswerOfUsers
from longlook.core import RunFolder
from longlook.engines.fake import FakeEngine
from longlook.pipeline import Observer, RunOptions, UsersAnswered, answer_users, run_study, users_of
from longlook.study import find_study

USERS, ROUNDS, DRAWS, REPEATS = 10_000, 10, 1000, 3
TARGETS = {"answers_cpu_s": 5.0}
STUDY = "kakhki2017-fig6a"
"""Its 21 cells are 3 rates, which users have, by 7 sizes, each with an answer of its own."""


def measure() -> dict[str, Any]:
    """CPU seconds, medians, of the whole command and of the answers alone; the run has made-up trials."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        run_study(replace(find_study(STUDY), rounds=ROUNDS), folder / "run", RunOptions(FakeEngine()), Observer())
        table = folder / "users.csv"
        _write(table)
        run = RunFolder.open(folder / "run")
        found = answer_users(run, users_of(run, table))
        arguments = ["population", str(folder / "run"), "--users", str(table), "--out", str(folder / "page")]
        command = [sys.executable, "-m", "longlook", *arguments]
        return {
            "targets": TARGETS,
            "users": USERS,
            "answers": len(found.answers),
            "command_cpu_s": _median(lambda: subprocess.run(command, check=True, capture_output=True)),
            "answers_cpu_s": _median(lambda: answer_users(run, users_of(run, table))),
            "plain_bootstrap_of_one_answer_cpu_s": _median(lambda: _plain(found)),
        }


def _write(path: Path) -> None:
    draw = np.random.default_rng(1)
    rtt_ms, rate_mbps = 36 * np.exp(draw.normal(0, 0.3, USERS)), np.exp(draw.uniform(np.log(5), np.log(100), USERS))
    rows = [f"{rtt:.2f},{rate:.3f}" for rtt, rate in zip(rtt_ms, rate_mbps, strict=True)]
    path.write_text("\n".join(["rtt_ms,rate_mbps", *rows, ""]), encoding="utf-8")


def _plain(found: UsersAnswered) -> list[float]:
    """Draw all users one by one, and a round for each; return p95 of each draw."""
    answer: AnswerOfUsers = found.answers[0]
    draw = np.random.default_rng(1)
    shares = np.array([cell.share_pct for cell in answer.cells])
    values = draw.lognormal(size=(len(shares), ROUNDS))
    levels = []
    for _ in range(DRAWS):
        cells = draw.choice(len(shares), USERS, p=shares / shares.sum())
        levels.append(float(np.quantile(values[cells, draw.integers(ROUNDS, size=USERS)], 0.95)))
    return levels


def _median(call: Callable[[], object]) -> float:
    return round(statistics.median(_cpu_s(call) for _ in range(REPEATS)), 3)


def _cpu_s(call: Callable[[], object]) -> float:
    before, children = time.process_time(), os.times()
    call()
    after = os.times()
    used = after.children_user + after.children_system - children.children_user - children.children_system
    return time.process_time() - before + used
