"""The echo on loopback: what its two programs send and say, over bare UDP and over QUIC, and what they refuse."""

import json
import socket
import subprocess
from pathlib import Path
from typing import Any

import pytest

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

NAME = "echo"
BARE, QUIC = "udp-echo", "quic-echo"


def client_of(folder: Path, protocol: str, port: int, **keys: object) -> subprocess.Popen[str]:
    command = stack_named(NAME).client_command
    assert command is not None
    echo = {"payloads": [1200, 1333], "tries": 2, "interval_s": 0.4}
    job = folder / "job.json"
    job.write_text(json.dumps({**json.loads(job_text(protocol, port, ())), "echo": echo, **keys}))
    return start(command(program_of(NAME), str(job)))


def ended(process: subprocess.Popen[str]) -> tuple[int, list[dict[str, Any]]]:
    out, errors = process.communicate(timeout=20)
    assert not errors, errors
    return process.returncode, json_lines(out)


@pytest.mark.parametrize("protocol", [BARE, QUIC])
def test_every_size_is_answered_at_the_first_try(protocol: str, tmp_path: Path) -> None:
    with serving(server_command(NAME, protocol, "/nowhere")) as server:
        assert (server.ready["protocol"], server.ready["role"]) == (protocol, "server")
        code, lines = ended(client_of(tmp_path, protocol, server.port))
        assert code == 0
        assert server.stop() == 0
    echoes = of_event(lines, "echo")
    assert [(line["payload_bytes"], line["tries"], line["refused"]) for line in echoes] == [
        (1200, 1, None),
        (1333, 1, None),
    ]
    assert all(line["t_start_ns"] < line["t_answer_ns"] for line in echoes)
    for connections in (of_event(lines, "connection"), of_event(server.lines, "connection")):
        assert len(connections) == (2 if protocol == QUIC else 0)
        assert all(line["resumed"] is False and line["protocol"] == QUIC for line in connections)


@pytest.mark.parametrize("protocol", [BARE, QUIC])
def test_every_datagram_has_the_declared_size_and_silence_is_reported(protocol: str, tmp_path: Path) -> None:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as silent:
        silent.bind((LOOPBACK, 0))
        code, lines = ended(client_of(tmp_path, protocol, silent.getsockname()[1]))
        silent.settimeout(0.1)
        heard: list[tuple[int, int]] = []
        while True:
            try:
                data, sender = silent.recvfrom(2000)
            except TimeoutError:
                break
            heard.append((sender[1], len(data)))
    assert code == 0
    first, second = dict.fromkeys(port for port, _ in heard)
    assert {size for port, size in heard if port == first} == {1200}
    assert {size for port, size in heard if port == second} == {1333}
    tries = 0 if protocol == QUIC else 2
    assert [(line["tries"], line["t_answer_ns"]) for line in of_event(lines, "echo")] == [(tries, None)] * 2
    assert all(line["t_end_ns"] - line["t_start_ns"] > 0.79e9 for line in of_event(lines, "echo"))


def test_a_quic_server_answers_with_packets_as_large_as_the_client_s(tmp_path: Path) -> None:
    with serving(server_command(NAME, QUIC, "/nowhere")) as server, relay(server.port) as (port, sizes):
        assert ended(client_of(tmp_path, QUIC, port, echo={"payloads": [1411], "tries": 1, "interval_s": 2}))[0] == 0
    assert max(sizes["up"]) == max(sizes["down"]) == 1411
    assert sizes["up"].count(1411) >= 2, "the first packet, and the DATAGRAM frame"
    assert sizes["down"].count(1411) >= 2, "the server's first packet, and its answer"


def test_another_answer_than_the_same_bytes_is_none(tmp_path: Path) -> None:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as wrong:
        wrong.bind((LOOPBACK, 0))
        client = client_of(
            tmp_path, BARE, wrong.getsockname()[1], echo={"payloads": [100], "tries": 1, "interval_s": 1}
        )
        data, sender = wrong.recvfrom(2000)
        wrong.sendto(data[:-1], sender)
        _, (line,) = ended(client)
    assert line["t_answer_ns"] is None


@pytest.mark.parametrize(
    ("protocol", "keys", "code", "reason"),
    [
        (BARE, {"echo": {"payloads": [], "tries": 1, "interval_s": 1}}, 2, "64 bytes or more"),
        (QUIC, {"echo": {"payloads": [1199], "tries": 1, "interval_s": 1}}, 2, "1200 bytes or more"),
        (BARE, {"echo": {"payloads": [1200], "tries": 0, "interval_s": 1}}, 2, "echo.tries"),
        (BARE, {"echo": {"payloads": [1200], "tries": 1}}, 2, "interval_s"),
        (BARE, {"echo": None}, 127, "fetches nothing"),
        (BARE, {"connection": "resumed"}, 127, "resumed"),
        (BARE, {"connections": 2}, 127, "several connections"),
        (BARE, {"knobs": {"dont_fragment": "maybe"}}, 2, "none of set, unset, kernel"),
        (QUIC, {"knobs": {"dont_fragment": "unset"}}, 127, "never fragmented"),
        ("h2", {}, 127, "udp-echo and quic-echo"),
    ],
)
def test_what_cannot_be_is_refused(
    protocol: str, keys: dict[str, object], code: int, reason: str, tmp_path: Path
) -> None:
    found, (line,) = ended(client_of(tmp_path, protocol, 9, **keys))
    assert (found, line["event"]) == (code, "error")
    assert reason in line["reason"]
    assert line.get("supported") is (False if code == 127 else None)


class relay:  # noqa: N801 - it is used as a function
    """A port that passes datagrams on to a server, in a process of its own, and counts their sizes."""

    def __init__(self, server_port: int) -> None:
        self._server = (LOOPBACK, server_port)

    def __enter__(self) -> tuple[int, dict[str, list[int]]]:
        import threading

        self._front, self._back = (socket.socket(socket.AF_INET, socket.SOCK_DGRAM) for _ in range(2))
        self._front.bind((LOOPBACK, 0))
        self._back.bind((LOOPBACK, 0))
        for each in (self._front, self._back):
            each.settimeout(0.1)
        self.sizes: dict[str, list[int]] = {"up": [], "down": []}
        self._client: tuple[str, int] | None = None
        self._over = False
        self._threads = [threading.Thread(target=run) for run in (self._up, self._down)]
        for thread in self._threads:
            thread.start()
        return self._front.getsockname()[1], self.sizes

    def __exit__(self, *_: object) -> None:
        self._over = True
        for thread in self._threads:
            thread.join()
        self._front.close()
        self._back.close()

    def _up(self) -> None:
        while not self._over:
            try:
                data, self._client = self._front.recvfrom(2000)
            except TimeoutError:
                continue
            self.sizes["up"].append(len(data))
            self._back.sendto(data, self._server)

    def _down(self) -> None:
        while not self._over:
            try:
                data = self._back.recv(2000)
            except TimeoutError:
                continue
            self.sizes["down"].append(len(data))
            if self._client is not None:
                self._front.sendto(data, self._client)
