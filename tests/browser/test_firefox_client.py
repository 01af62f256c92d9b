"""The Firefox client against real servers on loopback: what it proves, reports, refuses and leaves behind."""

import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from longlook.core import registry
from longlook.core.job import Content, Identity

from .session_harness import (
    HOST,
    OBJECTS,
    Server,
    Session,
    alive,
    copy_of,
    descendants,
    free_port,
    of,
    quic_go,
    session_of,
    wait_for,
)

pytestmark = [
    pytest.mark.stacks,
    pytest.mark.skipif(not registry.get("stacks", "firefox").installed("system"), reason="no Firefox here"),
]


@pytest.fixture(scope="module")
def session(identity: Identity, port: int) -> Iterator[Session]:
    with session_of(identity, port, "firefox") as session:
        yield session


def test_says_when_it_is_ready_and_what_it_is(session: Session) -> None:
    assert session.first["event"] == "ready"
    assert session.first["role"] == "client"
    assert "." in session.first["version"]


@pytest.mark.parametrize("protocol", ["h3", "h2", "h3"])
def test_every_object_arrives_whole_by_the_protocol_asked_for(
    session: Session, servers: dict[str, Server], page: Content, protocol: str
) -> None:
    other = servers["h2" if protocol == "h3" else "h3"]
    before, own_before = len(other.connections), len(servers[protocol].connections)
    asked_ns = time.time_ns()
    lines = session.run(protocol=protocol, phases=page.phases)
    done_ns = time.time_ns()
    assert lines[-1] == {"event": "done", "ok": True}, lines

    objects = {line["path"]: line for line in of(lines, "object")}
    assert {path: line["bytes"] for path, line in objects.items()} == {
        path: expected.bytes for path, expected in page.expected.items() if path != "/prime"
    }
    assert {line["protocol"] for line in objects.values()} == {protocol}
    assert all(line["status"] == 200 and line["error"] is None for line in objects.values())
    assert all(line["t_start_ns"] <= line["t_first_byte_ns"] <= line["t_end_ns"] for line in objects.values())

    (shown,) = of(lines, "page")
    assert asked_ns - 2_000_000 < shown["t_start_ns"] < shown["t_first_byte_ns"] < shown["t_loaded_ns"] < done_ns
    for paint in ("first", "largest"):
        assert shown["t_first_byte_ns"] < shown[f"t_{paint}_contentful_paint_ns"] < done_ns
    (connection,) = of(lines, "connection")
    assert connection["remote"] == f"{HOST}:{session.port}"
    assert connection["t_start_ns"] < connection["t_handshake_ns"] <= shown["t_first_byte_ns"] + 1_000_000
    wait_for(lambda: len(servers[protocol].connections) > own_before, "the server's line on the connection")
    (seen,) = servers[protocol].connections[own_before:]
    assert (seen["protocol"], seen["resumed"], connection["resumed"]) == (protocol, False, False)
    assert connection["local"] == (None if protocol == "h3" else seen["remote"])
    assert len(other.connections) == before, "the other protocol was tried too"


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"connection": "resumed"}, "connection 'resumed'"),
        ({"protocol": "hq"}, "protocol 'hq'"),
        ({"port": 1}, "this session was started for"),
        ({"knobs": {"speed": 11}}, "knob 'speed'"),
    ],
)
@pytest.mark.usefixtures("servers")
def test_refuses_what_it_cannot_do_and_goes_on(
    session: Session, page: Content, changes: dict[str, object], reason: str
) -> None:
    lines = session.run(**changes)
    assert lines[-1] == {"event": "done", "ok": False}
    assert lines[0]["supported"] is False
    assert reason in lines[0]["reason"]
    assert session.run(phases=page.phases)[-1]["ok"]


def test_failures_are_reported_and_nothing_is_left_behind(identity: Identity, page: Content, tmp_path: Path) -> None:
    www = copy_of(page, tmp_path)
    (www / "i" / "003.png").unlink()
    port = free_port()
    session = Session(identity, port, tmp_path, browser="firefox")
    try:
        with quic_go("h3", port, str(www), identity):
            lines = session.run(phases=page.phases)
        assert {line["path"]: line["error"] for line in of(lines, "object")}["/i/003.png"] == "HTTP status 404"
        assert lines[-1] == {"event": "done", "ok": False}
        lines = session.run(protocol="h2", phases=page.phases, timeout_s=10.0)
        assert len(of(lines, "object")) == OBJECTS + 1
        assert all(line["error"] for line in of(lines, "object"))
        processes = descendants(session.process.pid)
        assert session.finish() == 0
        assert not alive(processes)
        assert list(tmp_path.glob("firefox-driver-*")) == []
    finally:
        session.close()
