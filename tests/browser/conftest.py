"""What the tests of browsers share."""

import tempfile
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from longlook.core import registry
from longlook.core.job import Content, Identity, Program
from longlook.provision import tls

from .session_harness import OBJECT_BYTES, OBJECTS, Server, Session, Start, free_port, quic_go


@pytest.fixture(scope="module")
def identity() -> Identity:
    return tls.identity()


@pytest.fixture(scope="module")
def page() -> Content:
    content: Content = registry.get("workloads", "page").prepare({"objects": OBJECTS, "object_bytes": OBJECT_BYTES})
    return content


@pytest.fixture(scope="module")
def port() -> int:
    return free_port()


@pytest.fixture(scope="module")
def servers(identity: Identity, page: Content, port: int) -> Iterator[dict[str, Server]]:
    with quic_go("h3", port, page.root, identity) as h3, quic_go("h2", port, page.root, identity) as h2:
        yield {"h3": h3, "h2": h2}


@pytest.fixture
def scratch() -> Iterator[Path]:
    """A folder whose path is short, unlike pytest's: Chromium has sockets in it."""
    with tempfile.TemporaryDirectory(prefix="longlook-") as folder:
        yield Path(folder)


@pytest.fixture
def start(identity: Identity, scratch: Path) -> Iterator[Start]:
    """Start sessions of one's own; they are ended with the test."""
    with ExitStack() as stack:

        def begin(port: int, program: Program | None = None) -> Session:
            session = Session(identity, port, scratch, program)
            stack.callback(session.close)
            return session

        yield begin
