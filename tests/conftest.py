"""Fixtures that several kinds of tests use, and how tests share a machine."""

import re
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, settings
from xdist.scheduler import LoadScopeScheduling

from longlook.core.model import Study
from longlook.study.files import find_study
from tests.support import realtime
from tests.support.surroundings import clear_environment, restore_default_signals

ROOT = Path(__file__).parent
ALONE = (realtime.MARK, "browser")
"""Marks of files that do not run at the same time as other files of that mark."""
TINY = Path(__file__).parent / "data" / "tiny.toml"

settings.register_profile(
    "repeatable", derandomize=True, deadline=None, suppress_health_check=[HealthCheck.too_slow], database=None
)
settings.load_profile("repeatable")  # the same examples in each run, however busy the machine is


def pytest_configure(config: pytest.Config) -> None:
    """Make the tests independent of the shell that started them: their programs inherit what is set here."""
    clear_environment()
    restore_default_signals()
    config.pluginmanager.register(realtime.RealTime())


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Put files with long tests first."""
    slow = {item.path for item in items if item.get_closest_marker("slow")}
    items.sort(key=lambda item: item.path not in slow)


class ByFile(LoadScopeScheduling):
    """Gives each file to one worker, as its tests share fixtures, and all files that need both CPUs to the same one.

    These files drive a browser, or run in real time. What runs in virtual time, or computes, runs beside them: its
    results are the same. (Groups of xdist 3.8 have no effect with pytest 9.2, which keeps ids of tests elsewhere.)
    """

    def _split_scope(self, nodeid: str) -> str:
        file = nodeid.partition("::")[0]
        return next((name for name in ALONE if name in marks_of(file)), file)


@cache
def marks_of(file: str) -> frozenset[str]:
    """Return the marks that the text of a test file names."""
    return frozenset(re.findall(r"pytest\.mark\.(\w+)", (ROOT.parent / file).read_text()))


@pytest.hookimpl(optionalhook=True)  # unknown if tests run without xdist
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> ByFile:
    """Let `pytest -n …` share the tests of a machine so."""
    return ByFile(config, log)


@pytest.fixture(scope="session")
def tiny_study() -> Study:
    """Two arms, two cells, three rounds: the smallest study that has everything."""
    return find_study(str(TINY))
