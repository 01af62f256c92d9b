"""What the tests of the Chromium client share."""

import tempfile
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from longlook.core import registry
from longlook.core.job import Content, Identity, Program
from longlook.provision import tls

from .session_harness import OBJECT_BYTES, OBJECTS, Session, Start


@pytest.fixture(scope="module")
def identity() -> Identity:
    return tls.identity()


@pytest.fixture(scope="module")
def page() -> Content:
    content: Content = registry.get("workloads", "page").prepare({"objects": OBJECTS, "object_bytes": OBJECT_BYTES})
    return content


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
