"""A small run with made-up results, and its bundle."""

import shutil
from pathlib import Path

import pytest

from longlook.engines.fake import FakeEngine
from longlook.instruments.bundle.crate import Person
from longlook.instruments.bundle.make import BundleOptions, make_bundle
from longlook.pipeline import Observer, RunOptions, run_study
from longlook.study import find_study
from tests.conftest import TINY

AUTHORS = (Person("Ada Lovelace", "https://orcid.org/0000-0000-0000-0001"), Person("Grace Hopper", "grace@example.org"))


@pytest.fixture(scope="session")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Path:
    run = tmp_path_factory.mktemp("bundle") / "run"
    command = ("longlook", "run", "/home/ada/secret/tiny.toml", f"--out={run}")
    run_study(find_study(str(TINY)), run, RunOptions(FakeEngine(), command=command), Observer())
    return run


@pytest.fixture
def run(finished: Path, tmp_path: Path) -> Path:
    """Return a copy of the run that a test may change."""
    return Path(shutil.copytree(finished, tmp_path / "run"))


@pytest.fixture(scope="session")
def bundle(finished: Path) -> Path:
    out = finished.parent / "run.longlook.zip"
    make_bundle(finished, out, BundleOptions(authors=AUTHORS, licence="CC-BY-4.0"), overwrite=False)
    return out


@pytest.fixture(scope="session")
def whole_bundle(finished: Path) -> Path:
    out = finished.parent / "whole.longlook.zip"
    make_bundle(finished, out, BundleOptions(artefacts=True), overwrite=False)
    return out
