"""The kernel's TCP as a trial wants it, seen on a real connection between two namespaces."""

import socket
from pathlib import Path

import pytest

from longlook.core.errors import MachineError
from longlook.lab.linux import tcp
from longlook.lab.linux.namespace import Namespace
from longlook.lab.topology import CLIENT, PACKET, SERVER, EndpointNamespace

pytestmark = pytest.mark.lab

TUNED = {
    "initial_window_packets": 32,
    "idle_restart": False,
    "receive_buffer_bytes": 1 << 20,
    "send_buffer_bytes": 1 << 19,
    "reordering_packets": 30,
    "adaptive_reordering": False,
    "sack": False,
    "dsack": False,
    "tail_loss_probe": False,
    "timestamps": False,
    "mtu_probing": True,
    "ecn": True,
    "rto_min_ms": 50,
    "mss_bytes": 1000,
    "quickack": True,
}
SYSCTLS = {
    "tcp_slow_start_after_idle": "0",
    "tcp_reordering": "30",
    "tcp_recovery": "3",
    "tcp_sack": "0",
    "tcp_dsack": "0",
    "tcp_early_retrans": "0",
    "tcp_timestamps": "0",
    "tcp_mtu_probing": "1",
    "tcp_ecn": "1",
}


def setting(side: EndpointNamespace, name: str) -> str:
    with side.namespace.inside():
        return Path(f"/proc/sys/net/ipv4/{name}").read_text().strip()


def metrics(side: EndpointNamespace) -> dict[str, int]:
    (route,) = side.namespace.netlink.get_routes(dst="198.18.0.0/24", table=254)
    found = route.get_attr("RTA_METRICS")
    return {} if found is None else {name.removeprefix("RTAX_").lower(): value for name, value in found["attrs"]}


def test_there_is_multipath_tcp_only_where_a_trial_asks_for_it() -> None:
    """Listeners of Go and others take it where a namespace has it, and TCP would be another."""
    if not Path("/proc/sys/net/mptcp").exists():
        pytest.skip("this kernel has no Multipath TCP")

    def enabled(namespace: Namespace) -> str:
        with namespace.inside():
            return Path("/proc/sys/net/mptcp/enabled").read_text().strip()

    with Namespace() as router, EndpointNamespace(CLIENT, router, PACKET) as side:
        assert (enabled(router), enabled(side.namespace)) == ("0", "0")
        side.set_tcp("cubic", {})
        assert enabled(side.namespace) == "0"
        side.set_tcp("cubic", {"multipath": True})
        assert enabled(side.namespace) == "1"
        side.set_tcp("cubic", {"sack": False})
        assert enabled(side.namespace) == "0"


def test_settings_come_and_go_with_the_trial() -> None:
    with Namespace() as router, EndpointNamespace(SERVER, router, PACKET) as side:
        before = {name: setting(side, name) for name in ("tcp_rmem", "tcp_wmem", *SYSCTLS)}
        side.set_tcp("cubic", TUNED)
        assert setting(side, "tcp_rmem").split() == ["4096", "131072", str(1 << 20)]
        assert setting(side, "tcp_wmem").split() == ["4096", "65536", str(1 << 19)]
        assert {name: setting(side, name) for name in SYSCTLS} == SYSCTLS
        assert (metrics(side)["initcwnd"], metrics(side)["initrwnd"]) == (32, 32)
        assert [metrics(side)[name] for name in ("rto_min", "advmss", "quickack")] == [50, 1000, 1]
        assert metrics(side)["lock"] == 1 << 13 | 1 << 16
        side.set_tcp("cubic", {})
        assert before == {name: setting(side, name) for name in before}
        assert set(metrics(side)) == {"cc_algo", "lock"}


def test_a_large_initial_window_gets_a_buffer_that_offers_it() -> None:
    """Linux offers half of its receive buffer at most, whatever the route says."""
    with Namespace() as router, EndpointNamespace(CLIENT, router, PACKET) as side:
        for packets, at_first in ((44, 131_072), (45, 131_400), (500, 1_460_000)):
            side.set_tcp("cubic", {"initial_window_packets": packets})
            assert setting(side, "tcp_rmem").split()[1] == str(at_first)
        side.set_tcp("cubic", {"initial_window_packets": 500, "receive_buffer_bytes": 1 << 20})
        assert setting(side, "tcp_rmem").split()[1:] == [str(1 << 20)] * 2


def test_a_new_namespace_of_linux_has_the_settings_that_a_trial_gets_without_any() -> None:
    with Namespace() as fresh, Namespace() as router, EndpointNamespace(SERVER, router, PACKET) as side, fresh.inside():
        unset = {name: Path(f"/proc/sys/net/ipv4/{name}").read_text().strip() for name in SYSCTLS}
        assert unset == {name: setting(side, name) for name in SYSCTLS}


def test_an_added_address_has_the_settings_of_its_route() -> None:
    with Namespace() as router, EndpointNamespace(SERVER, router, PACKET) as side:
        side.add_address("198.18.0.4", "198.18.0.3", "reno", {"initial_window_packets": 20, "quickack": True})
        (route,) = side.namespace.netlink.get_routes(dst="198.18.0.3/32", table=254)
        found = {name.removeprefix("RTAX_").lower(): value for name, value in route.get_attr("RTA_METRICS")["attrs"]}
        assert (found["initcwnd"], found["quickack"], found["cc_algo"]) == (20, 1, "reno")


@pytest.mark.parametrize("name", ["hystart", "initial_ssthresh_packets", "window_after_loss"])
def test_the_kernel_of_a_host_is_left_alone(name: str) -> None:
    parameters = Path("/sys/module/tcp_cubic/parameters")
    before = [file.read_text() for file in sorted(parameters.iterdir())]
    tcp.apply_to_kernel({}, own_kernel=False)
    with pytest.raises(MachineError, match="everything that runs on this machine"):
        tcp.apply_to_kernel({name: 1}, own_kernel=False)
    assert before == [file.read_text() for file in sorted(parameters.iterdir())]


def test_pacing_is_there_or_refused() -> None:
    with Namespace() as router, EndpointNamespace(CLIENT, router, PACKET) as side:
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
    with Namespace() as router, EndpointNamespace(CLIENT, router, PACKET) as side, side.namespace.inside():
        side.set_tcp("reno", TUNED)
        with socket.socket() as end:
            end.setblocking(False)
            end.connect_ex((CLIENT.peer_address, 9))
            assert end.getsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, 16).rstrip(b"\0") == b"reno"
