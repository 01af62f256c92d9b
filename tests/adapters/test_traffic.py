"""Cross traffic over UDP on loopback: what its two programs say and do, and how they end."""

import json
import select
import signal
import socket
import subprocess
from collections.abc import Mapping
from pathlib import Path

import pytest

from longlook.core.model import ConnectionState, Scalar
from tests.adapters.harness import (
    LOOPBACK,
    job_text,
    json_lines,
    of_event,
    program_of,
    server_command,
    serving,
    stack_named,
    start,
)

NAME = "traffic"
FAST: Mapping[str, Scalar] = {"rate": 2_000_000, "packet_size": 500}
TWO_S = 2.0


def client_of(folder: Path, port: int, **keys: object) -> subprocess.Popen[str]:
    command = stack_named(NAME).client_command
    assert command is not None
    job = folder / "job.json"
    job.write_text(json.dumps({**json.loads(job_text("udp", port, ())), **keys}))
    return start(command(program_of(NAME), str(job)))


def ended(process: subprocess.Popen[str]) -> tuple[int, list[dict[str, object]]]:
    out, _ = process.communicate(timeout=10)
    return process.returncode, json_lines(out)


def first_line(process: subprocess.Popen[str]) -> dict[str, object]:
    assert process.stdout is not None
    assert select.select([process.stdout], [], [], 10)[0]
    (line,) = json_lines(process.stdout.readline())
    return line


def test_both_ends_tell_of_their_connection_and_end_when_told(tmp_path: Path) -> None:
    with serving(server_command(NAME, "udp", "/nowhere", knobs=FAST)) as server:
        client = client_of(tmp_path, server.port)
        own, theirs = first_line(client), server.next_line()
        for line in (own, theirs):
            assert (line["event"], line["protocol"], line["resumed"]) == ("connection", "udp", False)
        assert (own["local"], own["remote"]) == (theirs["remote"], theirs["local"])
        assert own["primes"] is False
        client.send_signal(signal.SIGTERM)
        assert ended(client) == (0, [])
        assert server.stop() == 0
        assert len(server.lines) == 1


def test_a_client_says_hello_until_data_comes(tmp_path: Path) -> None:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as silent:
        silent.bind((LOOPBACK, 0))
        silent.settimeout(5)
        client = client_of(tmp_path, silent.getsockname()[1])
        heard = [silent.recvfrom(100)[1] for _ in range(3)]
        assert len(set(heard)) == 1
        silent.sendto(b"\0" * 100, heard[0])
        assert first_line(client)["event"] == "connection"
        client.send_signal(signal.SIGTERM)
        assert ended(client)[0] == 0


def test_a_client_ends_with_its_time_and_fails_where_nothing_came(tmp_path: Path) -> None:
    with serving(server_command(NAME, "udp", "/nowhere")) as server:
        code, lines = ended(client_of(tmp_path, server.port, timeout_s=0.5))
        assert (code, len(of_event(lines, "connection"))) == (0, 1)
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as taken:
        taken.bind((LOOPBACK, 0))
        port = taken.getsockname()[1]
    code, (line,) = ended(client_of(tmp_path, port, timeout_s=0.5))  # nobody listens: the kernel refuses
    assert code == 1
    assert "nothing arrived" in str(line["reason"])


def test_datagrams_are_of_the_size_and_come_at_the_rate() -> None:
    with (
        serving(server_command(NAME, "udp", "/nowhere", knobs=FAST)) as server,
        socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as client,
    ):
        client.connect((LOOPBACK, server.port))
        client.settimeout(TWO_S)
        client.send(b"hello")
        sizes = {len(client.recv(2_000)) for _ in range(200)}  # 0.4 s; later hellos change nothing
        client.send(b"hello")
        assert sizes | {len(client.recv(2_000)) for _ in range(200)} == {500}


@pytest.mark.parametrize(
    ("keys", "code", "reason"),
    [
        ({"knobs": {"rate": 1}}, 127, "rate"),
        ({"protocol": "h3"}, 127, "h3"),
        ({"connection": ConnectionState.RESUMED}, 127, "resumed"),
        ({"connections": 2}, 127, "several"),
        ({"address": "nowhere"}, 2, "address"),
        ({"timeout_s": "long"}, 2, "timeout_s"),
    ],
)
def test_a_client_reports_what_it_cannot_do(keys: dict[str, object], code: int, reason: str, tmp_path: Path) -> None:
    found, (line,) = ended(client_of(tmp_path, 9, **keys))
    assert found == code
    assert reason in str(line["reason"])
    assert (line.get("supported") is False) is (code == 127)


@pytest.mark.parametrize(
    ("protocol", "knobs", "code"),
    [
        ("h3", {}, 127),
        ("udp", {"no_such_knob": 1}, 127),
        ("udp", {"rate": 10}, 2),
        ("udp", {"packet_size": 1_473}, 2),
        ("udp", {"on": 0}, 2),
        ("udp", {"law": "pareto"}, 2),
    ],
)
def test_what_a_server_cannot_do_it_says(protocol: str, knobs: dict[str, Scalar], code: int) -> None:
    found, (line,) = ended(start(server_command(NAME, protocol, "/nowhere", knobs=knobs)))
    assert found == code
    assert all(name in str(line["reason"]) for name in knobs)


def test_a_port_in_use_is_told() -> None:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as taken:
        taken.bind((LOOPBACK, 0))
        code, (line,) = ended(start(server_command(NAME, "udp", "/nowhere", taken.getsockname()[1])))
    assert code == 1
    assert "in use" in str(line["reason"])
