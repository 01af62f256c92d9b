from collections.abc import Iterator
from pathlib import Path

import pytest

from longlook.core import registry
from longlook.core.job import Content
from tests.adapters import harness
from tests.adapters.harness import Server


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
