"""The kernel's TCP as a trial wants it, seen on a real connection between two namespaces."""

import socket
from pathlib import Path

import pytest

from longlook.core.errors import MachineError
from longlook.lab.linux import tcp
from longlook.lab.linux.namespace import Namespace
from longlook.lab.topology import CLIENT, PACKET, SERVER, Side

pytestmark = pytest.mark.lab

TUNED = {
    "initial_window_packets": 32,
    "idle_restart": False,
    "receive_buffer_bytes": 1 << 20,
    "send_buffer_bytes": 1 << 19,
}


def setting(side: Side, name: str) -> str:
    with side.namespace.inside():
        return Path(f"/proc/sys/net/ipv4/{name}").read_text().strip()


def metrics(side: Side) -> dict[str, int]:
    (route,) = side.namespace.netlink.get_routes(dst="10.8.0.0/24", table=254)
    found = route.get_attr("RTA_METRICS")
    return {} if found is None else {name.removeprefix("RTAX_").lower(): value for name, value in found["attrs"]}


def test_settings_come_and_go_with_the_trial() -> None:
    with Namespace() as router, Side(SERVER, router, PACKET) as side:
        before = {name: setting(side, name) for name in ("tcp_rmem", "tcp_wmem", "tcp_slow_start_after_idle")}
        side.set_tcp("cubic", TUNED)
        assert setting(side, "tcp_rmem").split() == ["4096", "131072", str(1 << 20)]
        assert setting(side, "tcp_wmem").split() == ["4096", "65536", str(1 << 19)]
        assert setting(side, "tcp_slow_start_after_idle") == "0"
        assert (metrics(side)["initcwnd"], metrics(side)["initrwnd"]) == (32, 32)
        side.set_tcp("cubic", {})
        assert before == {name: setting(side, name) for name in before}
        assert "initcwnd" not in metrics(side)


def test_pacing_is_there_or_refused() -> None:
    with Namespace() as router, Side(CLIENT, router, PACKET) as side:
        try:
            side.set_tcp("cubic", {"pacing": True})
        except MachineError as error:
            assert "fq" in error.message and "virtual" in str(error.hint)
            return
        index = side.namespace.index(side.end.device)
        assert [q.get_attr("TCA_KIND") for q in side.namespace.netlink.get_qdiscs(index=index)] == ["fq"]
        side.set_tcp("cubic", {})
        assert "fq" not in [q.get_attr("TCA_KIND") for q in side.namespace.netlink.get_qdiscs(index=index)]


def test_the_kernel_takes_what_a_route_says() -> None:
    """No connection is needed: a socket that is about to connect has the route's window already."""
    assert tcp.route_metrics({}) == {}
    with Namespace() as router, Side(CLIENT, router, PACKET) as side, side.namespace.inside():
        side.set_tcp("reno", TUNED)
        with socket.socket() as end:
            end.setblocking(False)
            end.connect_ex((CLIENT.peer_address, 9))
            assert end.getsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, 16).rstrip(b"\0") == b"reno"
