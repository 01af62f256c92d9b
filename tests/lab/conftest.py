"""A host of its own for tests of `longlook link`."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from longlook.lab.linux.namespace import Namespace
from tests.support.link_host import LinkHost, wait_for


@pytest.fixture
def host(tmp_path: Path) -> Iterator[LinkHost]:
    with Namespace() as namespace:
        made = LinkHost(namespace, tmp_path)
        yield made
        wait_for(lambda: not made.left_behind())
