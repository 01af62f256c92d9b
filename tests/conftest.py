"""Fixtures that several kinds of tests use."""

from pathlib import Path

import pytest

from longlook.core.model import Study
from longlook.study.files import find_study
from tests.support.surroundings import clear_environment, restore_default_signals

TINY = Path(__file__).parent / "data" / "tiny.toml"


def pytest_configure() -> None:
    """Make the tests independent of the shell that started them: their programs inherit what is set here."""
    clear_environment()
    restore_default_signals()


@pytest.fixture(scope="session")
def tiny_study() -> Study:
    """Two arms, two cells, three rounds: the smallest study that has everything."""
    return find_study(str(TINY))
