"""Fixtures that several kinds of tests use."""

from pathlib import Path

import pytest

from longlook.core.model import Study
from longlook.study.files import find_study
from tests.support.surroundings import clear_environment, restore_default_signals

ROOT = Path(__file__).parent
SERIAL = {
    "real time": (
        "lab",
        "e2e/test_run.py",
        "faults/test_kills.py",
        "faults/test_machine.py",
        "faults/test_outcomes.py",
    ),
    "browser": ("browser",),
}
"""Groups of tests that do not run at the same time as others of their group, by folder or file below tests/."""
VIRTUAL = ("lab/test_calibrate.py",)
"""Files in these folders that run in virtual time."""
TINY = Path(__file__).parent / "data" / "tiny.toml"


def pytest_configure() -> None:
    """Make the tests independent of the shell that started them: their programs inherit what is set here."""
    clear_environment()
    restore_default_signals()


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Group tests for `pytest -n … --dist loadgroup`: the tests of a file share its fixtures, and so a worker.

    Tests in real time form one group, so that no two of them disturb each other's times; so do those that drive a
    browser, which takes both CPUs. What runs in virtual time, or computes, runs beside them: its results are the same.
    """
    for item in items:
        file = item.path.relative_to(ROOT)
        groups = (name for name, places in SERIAL.items() if any(map(file.is_relative_to, places)))
        group = str(file) if str(file) in VIRTUAL else next(groups, str(file))
        item.add_marker(pytest.mark.xdist_group(group))


@pytest.fixture(scope="session")
def tiny_study() -> Study:
    """Two arms, two cells, three rounds: the smallest study that has everything."""
    return find_study(str(TINY))
