"""Fixtures that several kinds of tests use."""

from pathlib import Path

import pytest

from longlook.core.model import Study
from longlook.study.files import find_study

TINY = Path(__file__).parent / "data" / "tiny.toml"


@pytest.fixture(scope="session")
def tiny_study() -> Study:
    """Two arms, two cells, three rounds: the smallest study that has everything."""
    return find_study(str(TINY))
