"""Fixtures that unit tests of several packages use."""

import shutil
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest

import longlook
from longlook.analysis import measure, measure_cache
from longlook.core import digests
from longlook.core.model import Study
from longlook.report.charts.theme import specification
from longlook.study import files
from longlook.study.catalogue import Catalogue
from longlook.study.virtual_time import VIRTUAL

REPORT = Path(__file__).with_name("report")
SHIPPED = Path(longlook.__file__).parent / "studies"


def forget_digests() -> None:
    digests.forget()
    measure_cache.code_of_measurements.cache_clear()


@pytest.fixture(scope="package", autouse=True)
def in_one_process() -> Iterator[None]:
    """Measure in this process: starting others, with all that they import, takes longer than most tests."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(measure, "_WORTH_PROCESSES", 10**9)
        yield


_read = files.read_study
_read_once = cache(_read)


@pytest.fixture(scope="package", autouse=True)
def shipped_studies_are_read_once() -> Iterator[None]:
    """Read and check each shipped study once, unless something in it is to be changed: all of them take seconds."""

    def read_study(path: Path, *catalogue: Catalogue | None, **changes: Any) -> Study:
        asked = {
            key for key, value in changes.items() if value not in (None, {}) and (key, value) != ("engine", VIRTUAL)
        }
        plain = path.parent == SHIPPED and not any(catalogue) and not asked
        return _read_once(path) if plain else _read(path, *catalogue, **changes)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(files, "read_study", read_study)
        yield


@pytest.fixture(scope="module", autouse=True)
def no_pictures(request: pytest.FixtureRequest) -> Iterator[None]:
    """Check the figures of run reports against their schema, and turn them into pictures in tests of reports alone.

    The pictures would take most of the time of whatever runs a study.
    """
    with pytest.MonkeyPatch.context() as patch:
        if not request.path.is_relative_to(REPORT):
            patch.setattr("longlook.report.page.export_figure", _checked_only)
        yield


def _checked_only(_folder: Path, _name: str, chart: Any) -> list[Path]:
    specification(chart)
    return []


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A copy of the package whose files the digests read."""
    copy = tmp_path / "longlook"
    shutil.copytree(Path(longlook.__file__).parent, copy, ignore=shutil.ignore_patterns("__pycache__"))
    monkeypatch.setattr(digests, "_ROOT", copy)
    forget_digests()
    yield copy
    forget_digests()
