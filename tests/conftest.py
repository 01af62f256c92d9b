"""Fixtures that several kinds of tests use, and how tests share a machine."""

from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

from longlook.core.model import Study
from longlook.study.files import find_study
from tests.support import realtime
from tests.support.surroundings import clear_environment, restore_default_signals

ROOT = Path(__file__).parent
ALONE = (realtime.MARK, "browser")
"""Marks of tests that do not run at the same time as others of that mark."""
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


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Put files with long tests first, and group tests for `pytest -n … --dist loadgroup`.

    The tests of a file share its fixtures, and so a worker. Those that drive a browser are one group, as each takes
    both CPUs; so are those in real time, for whoever runs them beside others. What runs in virtual time, or computes,
    runs beside them: its results are the same.
    """
    slow = {item.path for item in items if item.get_closest_marker("slow")}
    items.sort(key=lambda item: item.path not in slow)
    if config.pluginmanager.hasplugin("xdist"):
        for item in items:
            group = next((name for name in ALONE if item.get_closest_marker(name)), str(item.path.relative_to(ROOT)))
            item.add_marker(pytest.mark.xdist_group(group))


@pytest.fixture(scope="session")
def tiny_study() -> Study:
    """Two arms, two cells, three rounds: the smallest study that has everything."""
    return find_study(str(TINY))
