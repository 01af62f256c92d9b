"""Firefox that chooses between QUIC and TCP, by real Alt-Svc headers, on loopback."""

from collections.abc import Iterator

import pytest

from longlook.core import registry
from longlook.core.job import Content, Identity
from longlook.core.stack import ServerJob, Stack

from .session_harness import HOST, OBJECTS, Line, Server, Session, of, session_of, wait_for

pytestmark = [
    pytest.mark.stacks,
    pytest.mark.skipif(not registry.get("stacks", "firefox").installed("system"), reason="no Firefox here"),
]


@pytest.fixture(scope="module")
def server(identity: Identity, page: Content, port: int) -> Iterator[Server]:
    stack: Stack = registry.get("stacks", "quic-go")
    program = stack.install(stack.default_version)
    running = Server(stack, program, ServerJob("h3-or-h2", HOST, port, page.root, identity, {"alt_svc_port": port}))
    yield running
    running.stop()


@pytest.fixture(scope="module")
def session(identity: Identity, port: int) -> Iterator[Session]:
    with session_of(identity, port, "firefox") as session:
        yield session


def test_alt_svc_leads_to_quic_and_is_forgotten_with_the_job(session: Session, server: Server, page: Content) -> None:
    begun = []
    for memory in ("alt-svc", "none"):
        lines = session.run(protocol="h3-or-h2", phases=page.phases, knobs={"memory": memory}, timeout_s=60.0)
        assert lines[-1] == {"event": "done", "ok": True}, lines
        objects = of(lines, "object")
        assert len(objects) == OBJECTS + 1
        carriers = {line["local"] for line in of(lines, "connection") if not line["primes"]}
        assert {line["local"] for line in objects} == carriers
        begun.append(_first(objects))
        for line in of(lines, "connection"):
            assert server.connection_of(line)["resumed"] is False
    assert begun == ["h3", "h2"]


def test_an_https_record_leads_to_quic_before_any_answer(session: Session, server: Server, page: Content) -> None:
    begun = []
    for resolver in ("https-record", "addresses", "none"):
        lines = session.run(protocol="h3-or-h2", phases=page.phases, knobs={"resolver": resolver}, timeout_s=60.0)
        assert lines[-1] == {"event": "done", "ok": True}, lines
        begun.append(_first(of(lines, "object")))
    assert begun == ["h3", "h2", "h2"]
    wait_for(lambda: bool(server.connections), "the server's line on a connection")


def _first(objects: list[Line]) -> str:
    return str(min(objects, key=lambda line: line["t_start_ns"])["protocol"])
