"""A run folder with made-up results, and what the examples of docstrings find there."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from longlook.api.runs import Run
from longlook.api.runs import open as open_run
from longlook.core.model import Outcome, Study
from longlook.engines.fake import FakeEngine
from longlook.pipeline.options import Observer, RunOptions
from longlook.pipeline.run import run_study
from longlook.study.files import find_study
from longlook.study.plan import make_plan
from tests.conftest import TINY


@pytest.fixture(scope="package")
def ten_rounds() -> Study:
    """The smallest study with ten rounds, which decide."""
    return find_study(str(TINY), rounds=10)


@pytest.fixture(scope="package")
def folder(ten_rounds: Study, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run in which QUIC takes half the time; read alone."""
    out = tmp_path_factory.mktemp("api") / "runs" / "plain"
    run_study(ten_rounds, out, RunOptions(FakeEngine(factors={"quic": 0.5})), Observer())
    return out


@pytest.fixture(scope="package")
def failing_folder(ten_rounds: Study, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run in which two of QUIC's trials of 5KB fail; read alone."""
    out = tmp_path_factory.mktemp("api") / "failing"
    plan = make_plan(ten_rounds)
    bad = [trial.id for trial in plan.trials if trial.arm == "quic" and trial.cell["size"] == "5KB"][:2]
    run_study(ten_rounds, out, RunOptions(FakeEngine(outcomes=dict.fromkeys(bad, Outcome.FAILED))), Observer())
    return out


@pytest.fixture
def run(folder: Path) -> Run:
    """The run, opened."""
    return open_run(folder)


@pytest.fixture
def beside(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """The folder in which `runs/plain` is, as the current one."""
    monkeypatch.chdir(folder.parents[1])
    yield folder
