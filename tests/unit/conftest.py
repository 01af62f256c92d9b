"""Fixtures that unit tests of several packages use."""

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

import longlook
from longlook.analysis import measure_cache
from longlook.core import digests


def forget_digests() -> None:
    digests.forget()
    measure_cache.code_of_measurements.cache_clear()


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A copy of the package whose files the digests read."""
    copy = tmp_path / "longlook"
    shutil.copytree(Path(longlook.__file__).parent, copy, ignore=shutil.ignore_patterns("__pycache__"))
    monkeypatch.setattr(digests, "_ROOT", copy)
    forget_digests()
    yield copy
    forget_digests()
