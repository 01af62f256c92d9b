"""What adapters in Python share for HTTP/3 and HTTP/2 on one port."""

import json
import socket
import sys
from collections.abc import Iterator
from importlib import import_module

import pytest

from longlook.core.paths import adapters_dir

LOOPBACK = "127.0.0.1"


@pytest.fixture(autouse=True)
def library(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    before = set(sys.modules)
    monkeypatch.syspath_prepend(str(adapters_dir() / "lib" / "python"))
    yield
    for name in set(sys.modules) - before:
        if name.split(".")[0] == "longlook_adapter":
            del sys.modules[name]


def test_a_port_has_to_be_free_for_both_protocols() -> None:
    free_port = import_module("longlook_adapter.ports").free_port
    with socket.socket(type=socket.SOCK_DGRAM) as udp:
        udp.bind((LOOPBACK, 0))
        taken = udp.getsockname()[1]
        assert free_port("h2", LOOPBACK, taken) == taken
        for protocol in ("h3", "h3-or-h2"):
            with pytest.raises(OSError, match="in use"):
                free_port(protocol, LOOPBACK, taken)
    with socket.socket() as tcp:
        tcp.bind((LOOPBACK, 0))
        tcp.listen()
        with pytest.raises(OSError, match="in use"):
            free_port("h3-or-h2", LOOPBACK, tcp.getsockname()[1])
    assert free_port("h3-or-h2", LOOPBACK, 0) > 0


def test_an_address_may_have_a_connection_of_each_protocol(capsys: pytest.CaptureFixture[str]) -> None:
    accepted = import_module("longlook_adapter.accepted").Accepted((LOOPBACK, 443))
    remote = ("10.8.0.1", 5000)
    for protocol in ("h3", "h2", "h3", "h2"):
        accepted.request(protocol, remote, resumed=False, used_0rtt=False)
    lines = [json.loads(text) for text in capsys.readouterr().out.splitlines()]
    assert [line["protocol"] for line in lines] == ["h3", "h2"]
    assert ["congestion_control" in line for line in lines] == [False, True]


def test_sockets_without_a_peer_are_found_by_the_address_that_they_would_send_from() -> None:
    unconnected = import_module("longlook_adapter.sockets").unconnected
    with socket.socket(type=socket.SOCK_DGRAM) as free, socket.socket(type=socket.SOCK_DGRAM) as bound:
        free.bind(("0.0.0.0", 0))
        bound.connect((LOOPBACK, 9))
        found = unconnected(LOOPBACK)
        assert f"{LOOPBACK}:{free.getsockname()[1]}" in found
        assert f"{LOOPBACK}:{bound.getsockname()[1]}" not in found
    assert f"{LOOPBACK}:" in found[0]
