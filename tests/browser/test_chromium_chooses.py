"""Chromium that chooses between QUIC and TCP, by real Alt-Svc headers, on loopback."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import pytest

from longlook.core import registry
from longlook.core.job import Content, Identity
from longlook.core.model import Scalar
from longlook.core.stack import ServerJob, Stack

from .session_harness import HOST, OBJECTS, Line, Server, Session, Start, free_port, of

pytestmark = [
    pytest.mark.browser,
    pytest.mark.skipif(not registry.get("stacks", "chromium").installed("system"), reason="no Chromium here"),
]


@contextmanager
def server(port: int, page: Content, identity: Identity, **knobs: Scalar) -> Iterator[Server]:
    stack: Stack = registry.get("stacks", "quic-go")
    program = stack.install(stack.default_version)
    running = Server(stack, program, ServerJob("h3-or-h2", HOST, port, page.root, identity, knobs))
    try:
        yield running
    finally:
        running.stop()


def load(session: Session, page: Content, memory: str) -> list[Line]:
    return session.run(protocol="h3-or-h2", phases=page.phases, knobs={"memory": memory}, timeout_s=60.0)


def ask(session: Session, page: Content, resolver: str) -> set[str]:
    """The protocols of a first load with a resolver."""
    return spoken(session.run(protocol="h3-or-h2", phases=page.phases, knobs={"resolver": resolver}, timeout_s=60.0))


def spoken(lines: Sequence[Line]) -> set[str]:
    """The protocols of all objects."""
    assert lines[-1] == {"event": "done", "ok": True}, lines
    objects = of(lines, "object")
    assert len(objects) == OBJECTS + 1
    # On a busy machine it may open a second connection before the first has answered: neither has a `local` then.
    carriers = {line["local"] for line in of(lines, "connection") if not line["primes"]}
    assert {line.get("local") for line in objects} <= carriers
    return {line["protocol"] for line in objects}


def first(lines: Sequence[Line]) -> str:
    """The protocol of the page itself: what comes later may switch to QUIC, of which its answer tells."""
    spoken(lines)
    return str(min(of(lines, "object"), key=lambda line: line["t_start_ns"])["protocol"])


def test_alt_svc_leads_to_quic_and_is_forgotten_with_the_job(start: Start, page: Content, identity: Identity) -> None:
    port = free_port()
    with server(port, page, identity, alt_svc_port=port) as running:
        session = start(port)
        assert first(load(session, page, "none")) == "h2"
        lines = load(session, page, "alt-svc")
        assert "h3" in spoken(lines)  # on a busy machine TCP may win the race for the first objects
        assert [line["protocol"] for line in of(lines, "connection") if line["primes"]] == ["h2"]
        assert first(load(session, page, "none")) == "h2"
        assert all(line["resumed"] is False for line in running.connections)


def test_a_dead_port_is_survived_and_remembered(start: Start, page: Content, identity: Identity) -> None:
    port, dead = free_port(), free_port()
    with server(port, page, identity, alt_svc_port=dead):
        session = start(port)
        assert spoken(load(session, page, "alt-svc")) == {"h2"}
        lines = load(session, page, "page")
        assert spoken(lines) == {"h2"}
        (earlier,) = of(lines, "earlier_load")
        assert set(earlier["protocols"]) == {"h2"} and earlier["t_loaded_ns"] < of(lines, "page")[0]["t_start_ns"]


def test_an_https_record_leads_to_quic_before_any_answer(start: Start, page: Content, identity: Identity) -> None:
    port = free_port()
    with server(port, page, identity):  # it names no HTTP/3 in its answers
        session = start(port)
        loads = (ask(session, page, "https-record") for _ in range(5))
        assert any(
            "h3" in found for found in loads
        )  # it waits some milliseconds for a record, too few on a busy machine
        assert ask(session, page, "addresses") == {"h2"}
        assert ask(session, page, "none") == {"h2"}


def test_a_server_that_names_no_quic_cannot_be_remembered_for_it(
    start: Start, page: Content, identity: Identity
) -> None:
    port = free_port()
    with server(port, page, identity):
        session = start(port)
        lines = load(session, page, "alt-svc")
        assert lines[-1] == {"event": "done", "ok": False}
        assert {line["error"] for line in of(lines, "object")} == {
            "priming failed: the answer has no Alt-Svc header, so that QUIC stays unknown: "
            "set the server's knob alt_svc_port"
        }
        lines = session.run(protocol="h3", phases=page.phases, knobs={"memory": "page"})
        assert of(lines, "error")[0]["reason"] == "knob 'memory' has no meaning with h3"
        lines = session.run(protocol="h3-or-h2", connection="resumed", phases=page.phases)
        assert of(lines, "error")[0]["supported"] is False
