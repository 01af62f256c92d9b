"""Run folders with made-up results."""

import shutil
from pathlib import Path

import pytest

from longlook.core.model import Study
from longlook.engines.fake import FakeEngine
from longlook.pipeline.options import Observer, RunOptions
from longlook.pipeline.run import run_study
from longlook.study.files import find_study
from tests.conftest import TINY


@pytest.fixture(scope="package")
def ten_rounds() -> Study:
    """The smallest study with ten rounds, which decide."""
    return find_study(str(TINY), rounds=10)


@pytest.fixture(scope="package")
def finished(ten_rounds: Study, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run in which QUIC takes half the time; read alone."""
    out = tmp_path_factory.mktemp("runs") / "plain"
    run_study(ten_rounds, out, RunOptions(FakeEngine(factors={"quic": 0.5})), Observer())
    return out


@pytest.fixture
def run(finished: Path, tmp_path: Path) -> Path:
    """A copy of that run, below `runs/`."""
    copy = tmp_path / "runs" / "plain"
    shutil.copytree(finished, copy)
    return copy
