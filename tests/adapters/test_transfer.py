"""The contract when all is well, for every stack."""

import json
import socket
import ssl
from dataclasses import replace
from itertools import accumulate, product
from pathlib import Path

import pytest

from longlook.core.job import Content
from longlook.core.model import ConnectionState, Scalar
from longlook.core.protocol import HTTP_1_0, find_protocol
from longlook.provision import tls
from tests.adapters.harness import (
    LOOPBACK,
    Server,
    assert_all_arrived,
    cases,
    cases_on_one_connection,
    fetch,
    server_command,
    serving,
    stack_named,
    states_of,
    version_of,
)

Pair = tuple[str, str, str]
NO_END_IN_TRACES = ("quinn",)
"""Its qlog has packets sent, received and lost, and recovery's metrics, and nothing else: no frames, no close."""


def test_ready_line(pair: Pair, server: Server) -> None:
    name, _, protocol = pair
    ready = server.ready
    assert (ready["role"], ready["protocol"], ready["address"]) == ("server", protocol, LOOPBACK)
    assert 0 < ready["port"] < 65536
    assert ready["version"] == version_of(name)


@pytest.mark.parametrize("pair", cases_on_one_connection(), indirect=True)
def test_page_arrives_over_one_connection(pair: Pair, server: Server, page: Content, client_folder: Path) -> None:
    name, client, protocol = pair
    answer = fetch(client, client_folder, protocol=protocol, port=server.port, content=page)
    assert_all_arrived(answer, page, protocol)
    assert server.stop() == 0
    if not stack_named(name).server_reports_state:
        assert (len(answer.connections), server.lines) == (1, [])
        return
    (seen_by_client,), (seen_by_server,) = answer.connections, [x for x in server.lines if x["event"] == "connection"]
    for line in (seen_by_client, seen_by_server):
        assert (line["protocol"], line["resumed"], line["used_0rtt"]) == (protocol, False, False)
    assert seen_by_client["primes"] is False
    assert seen_by_client["local"] == seen_by_server["remote"]
    assert seen_by_client["remote"] == seen_by_server["local"] == f"{LOOPBACK}:{server.port}"


@pytest.mark.parametrize("pair", cases_on_one_connection(), indirect=True)
def test_times_are_in_order(pair: Pair, server: Server, page: Content, client_folder: Path) -> None:
    """The connection is opened after the first request is issued; a phase begins when the one before has ended."""
    _, client, protocol = pair
    answer = fetch(client, client_folder, protocol=protocol, port=server.port, content=page)
    (connection,) = answer.connections
    first = [answer.objects[path] for path in page.phases[0]]
    second = [answer.objects[path] for path in page.phases[1]]
    assert all(line["t_start_ns"] <= connection["t_start_ns"] for line in first)
    assert connection["t_start_ns"] < connection["t_handshake_ns"] <= min(line["t_first_byte_ns"] for line in first)
    assert max(line["t_end_ns"] for line in first) <= min(line["t_start_ns"] for line in second)
    assert connection["t_start_ns"] > 1_600_000_000 * 10**9


def test_download_arrives(pair: Pair, download: Content, client_folder: Path) -> None:
    name, client, protocol = pair
    with serving(server_command(name, protocol, download.root)) as server:
        answer = fetch(client, client_folder, protocol=protocol, port=server.port, content=download)
    assert_all_arrived(answer, download, protocol)


@pytest.mark.parametrize("state", list(ConnectionState))
def test_several_connections_fetch_everything_each(
    pair: Pair, server: Server, page: Content, client_folder: Path, state: ConnectionState
) -> None:
    name, client, protocol = pair
    count = 3 if stack_named(client).several_connections else 2
    content = replace(page, connections=count)
    answer = fetch(client, client_folder, protocol=protocol, port=server.port, content=content, connection=state)
    too_early = state == ConnectionState.ZERO_RTT and protocol not in stack_named(client).early_data_protocols
    if too_early or state not in states_of(client) or not stack_named(client).several_connections:
        assert answer.exit_code == 127
        return
    assert answer.exit_code == 0, answer.errors
    server.stop()
    measured = {line["local"] for line in answer.connections if not line["primes"]}
    if stack_named(name).server_reports_state:
        accepted = [line for line in server.lines if line["event"] == "connection" and line["remote"] in measured]
    else:
        accepted = [line for line in answer.connections if not line["primes"]]
    assert len(measured) == len(accepted) == count
    wanted = (state != ConnectionState.COLD, state == ConnectionState.ZERO_RTT and state in states_of(name))
    assert {(line["resumed"], line["used_0rtt"]) for line in accepted} == {wanted}
    objects = [line for line in answer.lines if line["event"] == "object"]
    assert all(line["error"] is None for line in objects)
    assert {line["digest"] for line in objects} <= {each.digest for each in page.expected.values()} | {None}
    assert sorted((line["path"], line["local"]) for line in objects) == sorted(product(page.expected, measured))


@pytest.mark.parametrize("pair", cases_on_one_connection(), indirect=True)
@pytest.mark.parametrize("state", list(ConnectionState))
def test_connection_state_is_proven_on_both_sides(
    pair: Pair, server: Server, page: Content, client_folder: Path, state: ConnectionState
) -> None:
    name, client, protocol = pair
    answer = fetch(client, client_folder, protocol=protocol, port=server.port, content=page, connection=state)
    if answer.exit_code == 127:
        able = state in states_of(name) and state in states_of(client)
        assert not able or (state == ConnectionState.ZERO_RTT and protocol == "h2")
        return
    assert_all_arrived(answer, page, protocol)
    server.stop()
    accepted = [line for line in server.lines if line["event"] == "connection"]
    wanted = (state != ConnectionState.COLD, state == ConnectionState.ZERO_RTT and state in states_of(name))
    assert [line["primes"] for line in answer.connections] == ([False] if state == "cold" else [True, False])
    for lines in (answer.connections, accepted) if stack_named(name).server_reports_state else (answer.connections,):
        assert len(lines) == len(answer.connections)
        assert (lines[-1]["resumed"], lines[-1]["used_0rtt"]) == wanted
        assert all((line["resumed"], line["used_0rtt"]) == (False, False) for line in lines[:-1])
    assert all(line["t_handshake_ns"] < answer.connections[-1]["t_start_ns"] for line in answer.connections[:-1])


@pytest.mark.parametrize("state", [ConnectionState.COLD, ConnectionState.RESUMED])
@pytest.mark.parametrize("pair", cases(HTTP_1_0.name), indirect=True)
def test_every_file_has_a_connection_of_its_own(
    pair: Pair, server: Server, page: Content, client_folder: Path, state: ConnectionState
) -> None:
    _, client, protocol = pair
    answer = fetch(client, client_folder, protocol=protocol, port=server.port, content=page, connection=state)
    assert_all_arrived(answer, page, protocol)
    server.stop()
    resumed = state is ConnectionState.RESUMED
    assert [line["primes"] for line in answer.connections] == [True] * resumed + [False] * len(page.expected)
    measured = {line["local"]: line for line in answer.connections if not line["primes"]}
    accepted = {line["remote"]: line for line in server.lines if line["remote"] in measured}
    assert len(measured) == len(accepted) == len(page.expected)
    assert {line["resumed"] for line in (*measured.values(), *accepted.values())} == {resumed}
    changes = []
    for line in answer.objects.values():
        own = measured.pop(line["local"])
        assert line["t_start_ns"] <= own["t_start_ns"] < own["t_handshake_ns"] <= line["t_first_byte_ns"]
        changes += [(own["t_start_ns"], 1), (line["t_end_ns"], -1)]
    assert max(accumulate(change for _, change in sorted(changes))) <= 6


@pytest.mark.parametrize("pair", cases("h2"), indirect=True)
def test_the_congestion_control_is_reported(pair: Pair, server: Server, page: Content, client_folder: Path) -> None:
    """The laboratory sets TCP's in the namespace and proves it with these lines."""
    name, client, protocol = pair
    if not stack_named(name).server_reports_state:
        pytest.skip("the laboratory asks the kernel itself")
    answer = fetch(client, client_folder, protocol=protocol, port=server.port, content=page)
    server.stop()
    default = Path("/proc/sys/net/ipv4/tcp_congestion_control").read_text().strip()
    reported = [line for line in (*answer.connections, *server.lines) if line["event"] == "connection"]
    assert [line["congestion_control"] for line in reported] == [default, default]


@pytest.mark.parametrize("pair", cases("h2"), indirect=True)
def test_a_client_reports_the_windows_of_http2_that_it_offers_and_keeps_to_them(
    pair: Pair, server: Server, page: Content, client_folder: Path
) -> None:
    _, client, protocol = pair
    names = ("http2_stream_window", "http2_connection_window")
    declared = stack_named(client).knobs_of(version_of(client), "client")
    if not set(names) <= declared.keys():
        pytest.skip("it has no knob for them")
    offered: dict[str, Scalar] = {"http2_stream_window": 20_000, "http2_connection_window": 200_000}
    for knobs in ({}, offered):
        answer = fetch(client, client_folder, protocol=protocol, port=server.port, content=page, knobs=knobs)
        assert_all_arrived(answer, page, protocol)
        (line,) = answer.connections
        assert {each: line[each] for each in names} == (knobs or {each: declared[each].usual for each in names})


def test_logs_are_written_where_asked(pair: Pair, page: Content, client_folder: Path, tmp_path: Path) -> None:
    name, client, protocol = pair
    folders = {side: tmp_path / f"qlog-{side}" for side in ("server", "client")}
    keys = {side: tmp_path / f"{side}.keys" for side in ("server", "client")}
    env = {side: {"QLOGDIR": str(folders[side]), "SSLKEYLOGFILE": str(keys[side])} for side in folders}
    with serving(server_command(name, protocol, page.root), env["server"]) as server:
        answer = fetch(client, client_folder, protocol=protocol, port=server.port, content=page, env=env["client"])
        assert_all_arrived(answer, page, protocol)
        server.stop()
    for side, stack in (("server", name), ("client", client)):
        bare = stack.partition("@")[0]
        if bare not in ("nginx", "haproxy") and (bare, protocol) != ("envoy", "h3"):  # which cannot
            assert "TRAFFIC_SECRET" in keys[side].read_text()
        if find_protocol(protocol).quic and "qlog" in stack_named(stack).log_formats:
            (qlog,) = folders[side].iterdir()
            text = qlog.read_text()
            assert "packet_sent" in text
            assert "connection_close" in text or stack in NO_END_IN_TRACES, "the trace was cut short"
            for record in text.split("\x1e"):
                assert not record.strip() or json.loads(record)
        else:
            assert not folders[side].exists()


def test_nothing_is_logged_unasked(pair: Pair, server: Server, page: Content, client_folder: Path) -> None:
    _, client, protocol = pair
    fetch(client, client_folder, protocol=protocol, port=server.port, content=page)
    assert sorted(path.name for path in client_folder.iterdir()) == [f"{client}-job.json"]


@pytest.mark.parametrize("offer", ["TLS 1.2", "http/1.1"])
@pytest.mark.parametrize("pair", cases("h2"), indirect=True)
def test_h2_takes_nothing_less(server: Server, offer: str) -> None:
    """TLS 1.3 and h2, or nothing: neither arm may fall back silently."""
    identity = tls.identity()
    context = ssl.create_default_context(cafile=identity.ca)
    if offer == "TLS 1.2":
        context.maximum_version = ssl.TLSVersion.TLSv1_2
    context.set_alpn_protocols(["h2" if offer == "TLS 1.2" else offer])
    answer = b""
    with socket.create_connection((LOOPBACK, server.port), timeout=5) as plain:
        try:
            with context.wrap_socket(plain, server_hostname=identity.host) as secure:
                secure.sendall(f"GET /index.html HTTP/1.1\r\nHost: {identity.host}\r\n\r\n".encode())
                answer = secure.recv(1024)
        except (ssl.SSLError, ConnectionError):
            pass
    assert answer[:12] in (b"", b"HTTP/1.1 403"), "Apache cannot be kept from saying so"
    server.stop()
    assert server.lines == [], "an unwanted connection was reported as accepted"
