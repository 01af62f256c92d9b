"""The contract when something is wrong, for every stack."""

import shutil
import signal
import socket
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from longlook.core.job import Content
from longlook.core.model import ConnectionState
from longlook.core.protocol import HQ, find_protocol
from longlook.provision import tls
from tests.adapters.harness import (
    LOOPBACK,
    Server,
    fetch,
    job_text,
    json_lines,
    of_event,
    program_of,
    server_command,
    serving,
    stack_named,
    start,
    states_of,
)

Pair = tuple[str, str, str]
PROMPT_S = 1.0


@pytest.fixture
def endless(tmp_path: Path) -> Content:
    """A terabyte of holes."""
    www = tmp_path / "www"
    www.mkdir()
    with (www / "endless.bin").open("wb") as file:
        file.truncate(1 << 40)
    return Content(str(www), (("/endless.bin",),), {})


def assert_one_error(lines: list[dict[str, object]], *, supported: bool) -> str:
    (line,) = lines
    assert line["event"] == "error"
    assert ("supported" in line and line["supported"] is False) is not supported
    reason = line["reason"]
    assert isinstance(reason, str)
    assert reason
    return reason


def free_port(kind: socket.SocketKind) -> socket.socket:
    taken = socket.socket(socket.AF_INET, kind)
    taken.bind((LOOPBACK, 0))
    if kind == socket.SOCK_STREAM:
        taken.listen()
    return taken


def test_port_in_use(pair: Pair, page: Content) -> None:
    name, _, protocol = pair
    with free_port(socket.SOCK_DGRAM if find_protocol(protocol).quic else socket.SOCK_STREAM) as taken:
        port = taken.getsockname()[1]
        process = start(server_command(name, protocol, page.root, port))
        out, _ = process.communicate(timeout=10)
    assert process.returncode == 1
    assert "in use" in assert_one_error(json_lines(out), supported=True)


def test_folder_that_is_not_there(pair: Pair, tmp_path: Path) -> None:
    name, _, protocol = pair
    process = start(server_command(name, protocol, str(tmp_path / "nowhere")))
    out, _ = process.communicate(timeout=10)
    assert process.returncode == 1
    assert "nowhere" in assert_one_error(json_lines(out), supported=True)


@pytest.mark.parametrize("role", ["server", "client"])
def test_unknown_knob_is_not_supported(pair: Pair, page: Content, client_folder: Path, role: str) -> None:
    name, client, protocol = pair
    if role == "server":
        process = start(server_command(name, protocol, page.root, knobs={"no_such_knob": 1}))
        out, _ = process.communicate(timeout=10)
        code, lines = process.returncode, json_lines(out)
    else:
        answer = fetch(client, client_folder, protocol=protocol, port=9, content=page, knobs={"no_such_knob": 1})
        code, lines = answer.exit_code, answer.lines
    assert code == 127
    assert "no_such_knob" in assert_one_error(lines, supported=False)


@pytest.mark.parametrize("role", ["server", "client"])
def test_unknown_protocol_is_not_supported(pair: Pair, page: Content, client_folder: Path, role: str) -> None:
    name, client, _ = pair
    if role == "server":
        process = start(server_command(name, "gopher", page.root))
        out, _ = process.communicate(timeout=10)
        code, lines = process.returncode, json_lines(out)
    else:
        answer = fetch(client, client_folder, protocol="gopher", port=9, content=page)
        code, lines = answer.exit_code, answer.lines
    assert code == 127
    assert "gopher" in assert_one_error(lines, supported=False)


def test_undeclared_connection_states_are_not_supported(
    pair: Pair, server: Server, page: Content, client_folder: Path
) -> None:
    _, client, protocol = pair
    for state in set(ConnectionState) - set(states_of(client)):
        answer = fetch(client, client_folder, protocol=protocol, port=server.port, content=page, connection=state)
        assert answer.exit_code == 127
        assert_one_error(answer.lines, supported=False)


@pytest.mark.parametrize("text", ["", "not json", "{}"])
def test_bad_job_is_bad_usage(pair: Pair, tmp_path: Path, text: str) -> None:
    _, client, _ = pair
    command = stack_named(client).client_command
    assert command is not None
    job = tmp_path / "job.json"
    job.write_text(text)
    process = start(command(program_of(client), str(job)))
    out, _ = process.communicate(timeout=10)
    assert process.returncode in ((2,) if text != "{}" else (2, 127))
    assert len(of_event(json_lines(out), "error")) == 1


def test_missing_file_fails_its_object_only(pair: Pair, server: Server, page: Content, client_folder: Path) -> None:
    _, client, protocol = pair
    phases = (("/index.html", "/missing.png"), ("/i/000.png",))
    answer = fetch(client, client_folder, protocol=protocol, port=server.port, content=page, phases=phases)
    assert answer.exit_code == 1
    assert {path: line["error"] is None for path, line in answer.objects.items()} == {
        "/index.html": True,
        "/missing.png": False,
        "/i/000.png": True,
    }
    assert answer.objects["/missing.png"]["status"] == (None if protocol == HQ.name else 404)


def test_nobody_listens(pair: Pair, page: Content, client_folder: Path) -> None:
    """Over UDP nothing reports it: the client ends at its own time limit."""
    _, client, protocol = pair
    with free_port(socket.SOCK_DGRAM) as silent:
        port = silent.getsockname()[1]
        answer = fetch(client, client_folder, protocol=protocol, port=port, content=page, timeout_s=1.0)
    assert answer.exit_code == 1
    assert set(answer.objects) == set(page.expected)
    assert all(line["error"] and line["t_end_ns"] is None for line in answer.objects.values())


def test_wrong_authority_is_refused(
    pair: Pair, page: Content, client_folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    name, client, protocol = pair
    program_of(name), program_of(client)
    with serving(server_command(name, protocol, page.root)) as server:
        monkeypatch.setenv("LONGLOOK_CACHE", str(tmp_path / "other"))
        key_of = tls._derived_key
        monkeypatch.setattr(tls, "_derived_key", lambda role: key_of(f"another {role}"))
        answer = fetch(client, client_folder, protocol=protocol, port=server.port, content=page)
        server.stop()
    assert answer.exit_code == 1
    assert all("certificate" in line["error"] for line in answer.objects.values())


def test_silent_server_is_given_up_on(pair: Pair, server: Server, page: Content, client_folder: Path) -> None:
    _, client, protocol = pair
    server.signal_all(signal.SIGSTOP)
    try:
        answer = fetch(client, client_folder, protocol=protocol, port=server.port, content=page, timeout_s=1.0)
    finally:
        server.signal_all(signal.SIGCONT)
    assert answer.exit_code == 1
    assert set(answer.objects) == set(page.expected)
    assert all(line["error"] and line["digest"] is None for line in answer.objects.values())


def test_sigterm_stops_an_idle_server(server: Server) -> None:
    assert server.stop() == 0
    assert server.stop_s < PROMPT_S


@pytest.mark.parametrize("blow", [signal.SIGTERM, signal.SIGKILL])
def test_server_that_ends_in_the_middle(
    pair: Pair, endless: Content, client_folder: Path, blow: signal.Signals
) -> None:
    """A dead QUIC server looks like a slow one at first: the client's own limit ends the wait."""
    name, client, protocol = pair
    with (
        serving(server_command(name, protocol, endless.root)) as server,
        ThreadPoolExecutor() as pool,
    ):
        pending = pool.submit(
            fetch, client, client_folder, protocol=protocol, port=server.port, content=endless, timeout_s=4.0
        )
        server.await_connection()
        time.sleep(0.1)  # some of the file is under way
        if blow != signal.SIGTERM:
            server.process.send_signal(blow)
        code = server.stop()  # sends SIGTERM once: a second one could meet a server that no longer handles it
        answer = pending.result()
    assert code == (0 if blow == signal.SIGTERM else -signal.SIGKILL)
    assert server.stop_s < PROMPT_S
    assert answer.exit_code == 1
    line = answer.objects["/endless.bin"]
    assert line["error"]
    assert line["digest"] is None


def test_client_that_dies_leaves_the_server_well(
    pair: Pair, endless: Content, page: Content, client_folder: Path
) -> None:
    name, client, protocol = pair
    shutil.copy(Path(page.root) / "index.html", endless.root)
    command = stack_named(client).client_command
    assert command is not None
    with serving(server_command(name, protocol, endless.root)) as server:
        fetch_job = client_folder / "job.json"
        fetch_job.write_text(job_text(protocol, server.port, endless.phases))
        process = start(command(program_of(client), str(fetch_job)))
        server.await_connection()
        process.kill()
        process.communicate()
        phases = (("/index.html",),)
        answer = fetch(client, client_folder, protocol=protocol, port=server.port, content=page, phases=phases)
        assert answer.exit_code == 0
        assert server.stop() == 0
