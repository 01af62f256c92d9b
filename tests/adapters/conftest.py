from collections.abc import Iterator
from pathlib import Path

import pytest

from longlook.core import registry
from longlook.core.job import Content
from tests.adapters import harness
from tests.adapters.harness import Server
from tests.support.attempts import run_attempts


@pytest.fixture(scope="session")
def page() -> Content:
    """More images than any stack allows requests at once."""
    content: Content = registry.get("workloads", "page").prepare({"objects": 300, "object_bytes": 3_000})
    return content


@pytest.fixture(scope="session")
def download() -> Content:
    content: Content = registry.get("workloads", "download").prepare({"object_bytes": 10_000_000})
    return content


@pytest.fixture(params=harness.cases())
def pair(request: pytest.FixtureRequest) -> tuple[str, str, str]:
    """(server, client, protocol)."""
    found: tuple[str, str, str] = request.param
    return found


@pytest.fixture
def server(pair: tuple[str, str, str], page: Content) -> Iterator[Server]:
    """The pair's server with the page."""
    name, _, protocol = pair
    with harness.serving(harness.server_command(name, protocol, page.root)) as running:
        yield running


@pytest.fixture
def client_folder(tmp_path: Path) -> Path:
    folder = tmp_path / "client"
    folder.mkdir()
    return folder


OPENS_MORE = "pycurl"
"""Over loopback libcurl now and then opens a connection that nobody asked for, or loses one; a study repeats such a
trial, which is invalid, and so do these tests."""


def pytest_runtest_protocol(item: pytest.Item, nextitem: pytest.Item | None) -> bool | None:
    if OPENS_MORE not in item.nodeid:
        return None
    run_attempts(item, nextitem, lambda _, reports: any(report.failed for report in reports))
    return True
