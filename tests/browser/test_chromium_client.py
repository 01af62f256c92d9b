"""The Chromium client against real servers on loopback: what it proves, reports, refuses and leaves behind."""

import socket
import time
from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest

from longlook.core import registry
from longlook.core.job import Content, Identity

from .session_harness import (
    HOST,
    OBJECTS,
    Line,
    Server,
    Session,
    Start,
    copy_of,
    free_port,
    https_1_1,
    of,
    quic_go,
    session_of,
)

pytestmark = [
    pytest.mark.browser,
    pytest.mark.skipif(not registry.get("stacks", "chromium").installed("system"), reason="no Chromium here"),
]

HTML = {"content-type": "text/html"}


@pytest.fixture(scope="module")
def session(identity: Identity, port: int) -> Iterator[Session]:
    """One warm session for all tests that leave it as it was."""
    with session_of(identity, port, "chromium") as session:
        yield session


def load(session: Session, page: Content, protocol: str, connection: str = "cold") -> list[Line]:
    lines = session.run(protocol=protocol, connection=connection, phases=page.phases)
    assert lines[-1] == {"event": "done", "ok": True}, lines
    return lines


def measured(lines: list[Line]) -> Line:
    (connection,) = [line for line in of(lines, "connection") if not line["primes"]]
    return connection


def open_connections(port: int) -> list[str]:
    wanted = f":{port:04X}"
    tables = [Path(f"/proc/self/net/{name}").read_text().splitlines()[1:] for name in ("tcp", "udp")]
    rows = [row.split() for table in tables for row in table]
    return [row[1] for row in rows if row[2].endswith(wanted) and row[3] == "01"]


def test_says_when_it_is_ready_and_what_it_is(session: Session) -> None:
    assert session.first["event"] == "ready"
    assert session.first["role"] == "client"
    assert session.first["version"].count(".") == 3


@pytest.mark.parametrize("protocol", ["h3", "h2"])
def test_every_object_arrives_whole_by_the_protocol_asked_for(
    session: Session, servers: dict[str, Server], page: Content, protocol: str
) -> None:
    other = servers["h2" if protocol == "h3" else "h3"]
    before = len(other.connections)
    asked_ns = time.time_ns()
    lines = load(session, page, protocol)
    done_ns = time.time_ns()

    objects = {line["path"]: line for line in of(lines, "object")}
    assert {path: line["bytes"] for path, line in objects.items()} == {
        path: expected.bytes for path, expected in page.expected.items() if path != "/prime"
    }
    assert {line["protocol"] for line in objects.values()} == {protocol}
    assert all(line["status"] == 200 and line["digest"] is None and line["error"] is None for line in objects.values())
    assert all(line["t_start_ns"] <= line["t_first_byte_ns"] <= line["t_end_ns"] for line in objects.values())

    (shown,) = of(lines, "page")
    assert asked_ns < shown["t_start_ns"] < objects["/index.html"]["t_start_ns"] + 200_000
    assert shown["t_start_ns"] < shown["t_first_byte_ns"] < shown["t_loaded_ns"] < done_ns
    for paint in ("first", "largest"):
        assert shown["t_first_byte_ns"] < shown[f"t_{paint}_contentful_paint_ns"] < done_ns
    assert shown["t_first_byte_ns"] == objects["/index.html"]["t_first_byte_ns"]
    assert max(line["t_end_ns"] for line in objects.values()) < done_ns

    connection = measured(lines)
    assert connection["protocol"] == protocol
    assert connection["remote"] == f"{HOST}:{session.port}"
    assert shown["t_start_ns"] < connection["t_start_ns"] < connection["t_handshake_ns"] < shown["t_first_byte_ns"]
    assert servers[protocol].connection_of(connection)["protocol"] == protocol
    assert len(other.connections) == before, "the other protocol was tried too"


@pytest.mark.parametrize("protocol", ["h3", "h2"])
def test_cold_jobs_share_no_ticket(session: Session, servers: dict[str, Server], page: Content, protocol: str) -> None:
    for _ in range(2):
        connection = measured(load(session, page, protocol))
        seen = servers[protocol].connection_of(connection)
        assert (connection["resumed"], connection["used_0rtt"]) == (False, False)
        assert (seen["resumed"], seen["used_0rtt"]) == (False, False)


@pytest.mark.parametrize(
    ("protocol", "connection", "early"), [("h3", "resumed", False), ("h3", "0rtt", True), ("h2", "resumed", False)]
)
def test_the_server_confirms_what_was_resumed(
    session: Session, servers: dict[str, Server], page: Content, protocol: str, connection: str, early: bool
) -> None:
    for _ in range(2):
        lines = load(session, page, protocol, connection)
        (priming,) = [line for line in of(lines, "connection") if line["primes"]]
        first = servers[protocol].connection_of(priming)
        second = servers[protocol].connection_of(measured(lines))
        assert (first["resumed"], first["used_0rtt"]) == (priming["resumed"], priming["used_0rtt"]) == (False, False)
        assert (measured(lines)["resumed"], measured(lines)["used_0rtt"]) == (None, None)
        assert (second["resumed"], second["used_0rtt"]) == (True, early)
        assert priming["t_handshake_ns"] < of(lines, "page")[0]["t_start_ns"]


@pytest.mark.parametrize(("protocol", "connection"), [("h3", "cold"), ("h2", "cold"), ("h3", "0rtt")])
@pytest.mark.usefixtures("servers")
def test_no_connection_is_open_when_a_job_is_done(
    session: Session, page: Content, protocol: str, connection: str
) -> None:
    load(session, page, protocol, connection)
    assert open_connections(session.port) == []


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"protocol": "h2", "connection": "0rtt"}, "early data over TCP"),
        ({"protocol": "hq"}, "protocol 'hq'"),
        ({"connection": "warm"}, "connection 'warm'"),
        ({"port": 1}, "this session was started for"),
        ({"address": "127.0.0.9"}, "this session was started for"),
        ({"knobs": {"speed": 11}}, "knob 'speed'"),
        ({"connections": 2}, "connections 2"),
        ({"phases": [["/i/000.png"], ["/prime"]], "connection": "cold"}, None),
    ],
)
@pytest.mark.usefixtures("servers")
def test_refuses_what_it_cannot_do_and_goes_on(
    session: Session, page: Content, changes: dict[str, object], reason: str | None
) -> None:
    lines = session.run(**changes)
    assert lines[-1] == {"event": "done", "ok": False}
    if reason is not None:
        assert lines[0]["event"] == "error"
        assert lines[0]["supported"] is False
        assert reason in lines[0]["reason"]
    load(session, page, "h3")


def test_a_file_to_save_is_no_page(start: Start, identity: Identity) -> None:
    download: Content = registry.get("workloads", "download").prepare({"object_bytes": 5000})
    port = free_port()
    with quic_go("h3", port, download.root, identity):
        lines = start(port).run(phases=download.phases)
    assert lines[0]["supported"] is False
    assert "/download.bin is not a page" in lines[0]["reason"]


@pytest.mark.parametrize("protocol", ["h3", "h2"])
def test_a_server_that_is_not_there(start: Start, page: Content, protocol: str) -> None:
    lines = start(free_port()).run(protocol=protocol, phases=page.phases, timeout_s=15.0)
    objects = of(lines, "object")
    assert len(objects) == OBJECTS + 1
    assert all(line["error"] and line["bytes"] is None and line["t_end_ns"] is None for line in objects)
    assert objects[0]["error"].startswith("net::ERR_")
    assert of(lines, "page")[0]["t_loaded_ns"] is None
    assert lines[-1] == {"event": "done", "ok": False}


@pytest.mark.parametrize("connection", ["cold", "resumed"])
@pytest.mark.parametrize("protocol", ["h3", "h2"])
def test_a_server_that_is_silent_costs_the_time_limit(start: Start, protocol: str, connection: str) -> None:
    port = free_port()
    with socket.socket(type=socket.SOCK_DGRAM if protocol == "h3" else socket.SOCK_STREAM) as silent:
        silent.bind((HOST, port))
        if protocol == "h2":
            silent.listen()
        session = start(port)
        for _ in range(2):  # a timeout is no reason to give up the warm browser
            begun_s = time.monotonic()
            lines = session.run(protocol=protocol, connection=connection, timeout_s=1.5)
            assert 1.5 <= time.monotonic() - begun_s < 15.0
            assert "timed out" in of(lines, "object")[0]["error"]
            assert lines[-1] == {"event": "done", "ok": False}
            assert open_connections(port) == []


def test_objects_that_fail_lack_or_come_unasked(
    start: Start, identity: Identity, page: Content, tmp_path: Path
) -> None:
    www = copy_of(page, tmp_path)
    (www / "i" / "003.png").unlink()
    port = free_port()
    paths = [path for phase in page.phases for path in phase if path != "/i/004.png"]
    with quic_go("h2", port, str(www), identity):
        lines = start(port).run(protocol="h2", phases=[[*paths, "/never.png"]])
    objects = {line["path"]: line for line in of(lines, "object")}
    assert objects["/i/003.png"]["error"] == "HTTP status 404"
    assert objects["/i/003.png"]["status"] == 404
    assert objects["/never.png"]["error"] == "the page never requested it"
    assert objects["/i/004.png"]["error"] == "requested by the page, but not part of the job"
    assert objects["/i/005.png"]["error"] is None
    assert of(lines, "page")[0]["t_loaded_ns"] is not None
    assert lines[-1] == {"event": "done", "ok": False}


def test_priming_that_fails_measures_nothing(start: Start, identity: Identity, page: Content, tmp_path: Path) -> None:
    www = copy_of(page, tmp_path)
    (www / "prime").unlink()
    port = free_port()
    with quic_go("h3", port, str(www), identity) as server:
        lines = start(port).run(connection="0rtt", phases=page.phases)
    assert len(server.connections) == 1  # all of them are read by the server's end
    assert all(line["error"] == "priming failed: HTTP status 404" for line in of(lines, "object"))
    assert len(of(lines, "object")) == OBJECTS + 1
    assert lines[-1] == {"event": "done", "ok": False}


def test_reports_the_protocol_really_spoken_and_asks_for_no_icon(start: Start, identity: Identity) -> None:
    port = free_port()
    with https_1_1(port, {"/index.html": (200, HTML, b"<title>t</title><p>no icon is named here")}, identity) as asked:
        session = start(port)
        for _ in range(2):
            (line,) = of(session.run(protocol="h2"), "object")
            assert line["protocol"] == "http/1.1"
        assert session.finish() == 0
    assert asked == ["/index.html"] * 2


def test_a_redirect_is_reported(start: Start, identity: Identity) -> None:
    answers = {
        "/index.html": (302, {"location": "/elsewhere.html"}, b""),
        "/elsewhere.html": (200, HTML, b"<title>t</title>"),
    }
    port = free_port()
    with https_1_1(port, answers, identity):
        lines = start(port).run(protocol="h2", phases=[["/index.html", "/elsewhere.html"]])
    first, second = of(lines, "object")
    assert first["status"] == 302
    assert first["error"] == f"redirected to https://tcp.example.test:{port}/elsewhere.html"
    assert (second["status"], second["error"]) == (200, None)


def test_another_certificate_is_refused(identity: Identity, page: Content, scratch: Path) -> None:
    port = free_port()
    another = replace(identity, spki_sha256="A" * 43 + "=")
    with quic_go("h2", port, page.root, identity), closing(Session(another, port, scratch)) as session:
        assert of(session.run(protocol="h2"), "object")[0]["error"].startswith("net::ERR_CERT")
